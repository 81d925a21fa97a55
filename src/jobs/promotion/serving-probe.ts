import { type Clock, sleep } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { ModelGate } from '../../kinds/port/gate.ts'
import type { ServingFacts, ServingLimits } from '../../models/registry/checks/promotion-verdict.ts'
import type { Consistency } from '../../wire/model-reader.ts'

/** A version that a job loads. */
export interface LoadingVersion {
  readonly gate: ModelGate
  readonly number: number
  /** Last positions of the version's rows in the model topic; when they are applied, it is loaded. */
  readonly positions: readonly { readonly partition: number; readonly offset: number }[]
  readonly limits?: ServingLimits | undefined
  readonly clock: Clock
}

/** Number of predictions that are timed, one at a time. */
const TIMED = 500
const POLL_MS = 10

/**
 * Waits until the serving job has applied the version's rows up to the given positions. Resolves with
 * the time that this took, in ms; Infinity after the limit. Throws EMPTY_DATASET without golden examples.
 */
export async function untilLoaded(version: LoadingVersion): Promise<number> {
  const { clock, limits } = version
  const startMs = clock.monotonicMs()
  const maxLoadMs = limits?.maxLoadMs ?? 60_000
  while (!(await answersNow(version))) {
    if (clock.monotonicMs() - startMs > maxLoadMs) return Number.POSITIVE_INFINITY
    await sleep(clock, POLL_MS)
  }
  return clock.monotonicMs() - startMs
}

/** Waits until the version answers, then times predictions of golden examples, one at a time. */
export async function servingFacts(version: LoadingVersion): Promise<ServingFacts> {
  const { clock, gate, number } = version
  const loadMs = await untilLoaded(version)
  if (!Number.isFinite(loadMs)) return { loadMs, asked: 0, failed: 0, p99Ms: Number.NaN }
  const times: number[] = []
  let failed = 0
  const asked = Math.min(TIMED, gate.size)
  for (let i = 0; i < asked; i++) {
    const beginMs = clock.monotonicMs()
    const isRight = await gate.answers(Math.floor((i * gate.size) / asked), { version: number })
    if (!isRight) failed++
    times.push(clock.monotonicMs() - beginMs)
  }
  times.sort((a, b) => a - b)
  const p99Ms = times[Math.min(times.length - 1, Math.floor(times.length * 0.99))] ?? Number.NaN
  return { loadMs, asked, failed, p99Ms }
}

/** Whether the slots of the probed examples have applied all rows of the version. */
async function answersNow({ gate, number, positions }: LoadingVersion): Promise<boolean> {
  if (gate.size === 0) {
    throw new WeirError('EMPTY_DATASET', 'the golden set is empty; add ratings or examples to it')
  }
  const levels: readonly Consistency[] =
    positions.length === 0
      ? [{ level: 'live' }]
      : positions.map((position) => ({ level: 'at-least', ...position }))
  for (const consistency of levels) {
    const query = { version: number, consistency }
    const found = await Promise.all(gate.probes.map((example) => gate.answers(example, query)))
    if (found.includes(false)) return false
  }
  return true
}
