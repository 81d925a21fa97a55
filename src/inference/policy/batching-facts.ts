import type { DispatchReason } from '../port/engine.ts'
import type { LatencyEstimate } from '../port/latency-estimate.ts'

/** What a batching rule knows when a worker is free. Times are monotonic ms. */
export interface BatchingFacts {
  readonly nowMs: number
  /** Waiting requests that may share the next batch, earliest deadline first. */
  readonly count: number
  /** Items, deadlines and arrivals of these requests. */
  readonly items: ArrayLike<number>
  readonly deadlines: ArrayLike<number>
  readonly arrivals: ArrayLike<number>
  /** Items submitted since the start. */
  readonly arrivedItems: number
  readonly latency: LatencyEstimate
  /** Items that arrive in a millisecond. */
  readonly arrivalRate: number
  /** Share of the time in which the worker runs, 0 to 1. */
  readonly utilisation: number
  /** Most items of a batch. */
  readonly maxItems: number
  readonly sloMs: number
  /** End of the last run; 0 before the first. */
  readonly lastRunAt: number
}

/** What a free worker does: it sheds the first `shed` requests, then runs the next `count`, or waits. */
export type BatchingDecision =
  | {
      readonly kind: 'run'
      readonly shed: number
      readonly count: number
      readonly reason: DispatchReason
    }
  | { readonly kind: 'wait'; readonly shed: number; readonly untilMs: number }

/** Run that has ended. */
export interface ObservedRun {
  readonly items: number
  readonly runMs: number
  readonly sloMs: number
}

/** Rule that forms batches. Deterministic: it reads no clock and no memory but its facts and own state. */
export interface BatchingRule {
  decide(facts: BatchingFacts): BatchingDecision
  /** Learns from a run of one batch. */
  observe(run: ObservedRun): void
  /** Largest batch that the rule forms now, items; undefined when it sets none. */
  readonly limit: number | undefined
}

/** Requests from `first` on whose items fit into `limit`; at least one, however large it is. */
export function fitting(facts: BatchingFacts, first: number, limit: number): number {
  let items = facts.items[first]!
  let count = 1
  while (first + count < facts.count) {
    items += facts.items[first + count]!
    if (items > limit) break
    count++
  }
  return count
}

/** Items of all requests from `first` on. */
export function itemsFrom(facts: BatchingFacts, first: number): number {
  let items = 0
  for (let i = first; i < facts.count; i++) items += facts.items[i]!
  return items
}
