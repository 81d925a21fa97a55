import type { BatchingFacts } from './batching-facts.ts'
import { itemsFrom } from './batching-facts.ts'
import { meanMs, slowMs } from './latency-model.ts'

/** After so many goals without a run, the estimate is tried again. */
const PROBE_AFTER_GOALS = 2

/**
 * Requests at the front that the next batch cannot answer in time. They are shed one by one while the slow
 * time of the batch that would be run (all that wait, at most `limit` items) ends after the first
 * deadline: what is answered late helps no one, and delays the next ones. For a request that would run alone
 * the mean decides: no smaller batch is left to try.
 *
 * The last request is kept while the worker has not run for two goals: an estimate that is too high sheds
 * everything, so no run would ever correct it.
 */
export function doomedHeads(facts: BatchingFacts, limit: number): number {
  const { nowMs, latency, deadlines, items } = facts
  let waiting = itemsFrom(facts, 0)
  let shed = 0
  const isProbe = nowMs - facts.lastRunAt > PROBE_AFTER_GOALS * facts.sloMs
  for (; shed < facts.count; shed++) {
    const deadline = deadlines[shed]!
    const batch = Math.max(items[shed]!, Math.min(waiting, limit))
    const isAlone = batch === items[shed]
    const runMs = isAlone ? meanMs(latency, batch) : slowMs(latency, batch)
    if (deadline > nowMs && nowMs + runMs <= deadline) break
    if (deadline > nowMs && isProbe && isLast(facts, shed)) break
    waiting -= items[shed]!
  }
  return shed
}

/** The last request is the probe: it has the latest deadline. */
const isLast = (facts: BatchingFacts, shed: number): boolean => shed === facts.count - 1

/** Facts for the admission of one request. */
export interface AdmissionFacts {
  readonly latency: { fixedMs: number; itemMs: number; ratio: number; largest: number }
  /** Items that wait. */
  readonly waitingItems: number
  readonly items: number
  readonly maxItems: number
  readonly workers: number
  /** Time until the request's deadline, ms. */
  readonly slackMs: number
  /** Time since the last run, ms. */
  readonly sinceRunMs: number
  readonly sloMs: number
}

/**
 * Time after which a refused request may be in time, ms; undefined when it is admitted. The wait is that of all
 * items in batches of the largest size, shared among the workers.
 */
export function refusal(facts: AdmissionFacts): number | undefined {
  const { latency, waitingItems, items, maxItems, workers, slackMs } = facts
  if (waitingItems === 0 || latency.largest === 0) return undefined
  if (facts.sinceRunMs > PROBE_AFTER_GOALS * facts.sloMs) return undefined
  const size = Math.min(maxItems, Math.max(1, latency.largest))
  const batches = Math.floor(waitingItems / size)
  const waitMs = (batches * meanMs(latency, size)) / Math.max(1, workers)
  const lateMs = waitMs + meanMs(latency, items) - slackMs
  return lateMs > 0 ? Math.max(1, Math.ceil(lateMs)) : undefined
}
