import type { Cancel, Clock } from '../../../core/clock.ts'
import type { KeySource } from '../port/key-source.ts'
import type { LoadTarget } from '../port/target.ts'
import type { LoadRecorder } from '../port/window.ts'

/** Calls back after a delay in ms, with a higher precision than a timer. */
export type Pacer = (delayMs: number, callback: () => void) => Cancel

/** What a loop sends, to whom, and where it records it. */
export interface LoopParts {
  readonly target: LoadTarget
  readonly keys: KeySource
  readonly recorder: LoadRecorder
  readonly clock: Clock
  readonly pacer: Pacer
}

/** Sends requests until it is stopped or its load ends. */
export interface LoadLoop {
  /** Resolves when nothing more is sent and every request has ended. */
  readonly finished: Promise<void>
  /** Sends nothing more. */
  stop(): void
}

/** Delays up to this are waited for by turns of the event loop; a timer may be a millisecond late. */
const TURNS_MS = 2

/**
 * The pacer of a real load: a timer for the whole part of a long delay, and turns of the event loop for the
 * rest, which take a core but are exact to some microseconds. It may call back early.
 */
export function turnPacer(delayMs: number, callback: () => void): Cancel {
  if (delayMs > TURNS_MS) {
    const timer = setTimeout(callback, Math.floor(delayMs - TURNS_MS))
    return () => clearTimeout(timer)
  }
  const immediate = setImmediate(callback)
  return () => clearImmediate(immediate)
}
