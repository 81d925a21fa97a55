import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../core/clock.ts'

/** Time between two turns of the event loop, ms. */
const SLICE_MS = 1

/**
 * Does work in steps and lets the event loop turn about every millisecond, so that heartbeats, commands and queries are
 * answered in between. Goes on while `mayGoOn` says so; otherwise the rest is left undone, and false is returned.
 */
export async function inSlices(
  steps: Generator<void, void>,
  clock: Pick<Clock, 'monotonicMs'>,
  mayGoOn: () => boolean,
): Promise<boolean> {
  let untilMs = clock.monotonicMs() + SLICE_MS
  while (steps.next().done !== true) {
    if (clock.monotonicMs() < untilMs) continue
    await nextTurn()
    if (!mayGoOn()) return false
    untilMs = clock.monotonicMs() + SLICE_MS
  }
  return true
}
