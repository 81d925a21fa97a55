import type { AlignmentState } from './barrier-alignment.ts'
import type { Barrier } from './checkpoint-types.ts'

/*
 * Unaligned checkpoints: when a barrier overtakes the records that wait in front of it. Flink's
 * AlternatingWaitingForFirstBarrierUnaligned; a checkpoint begins aligned and overtakes after a timeout.
 */

/** Facts when a barrier has come into the queue of an input channel, where it was not read yet. */
export interface QueuedBarrier {
  readonly barrier: Barrier
  /** Newest checkpoint whose barrier came into any queue before; 0 for none. */
  readonly newest: number
  readonly alignment: AlignmentState
  /** Wall clock, ms. */
  readonly nowMs: number
}

/** What follows from a barrier in the queue. */
export type QueuedDecision =
  /** It is not the first one of a checkpoint, or never overtakes. */
  | { readonly kind: 'none' }
  /** It overtakes after this time, at once if 0, unless the subtask is aligned before. */
  | { readonly kind: 'overtake'; readonly afterMs: number }

/** Decides when the first barrier of a checkpoint overtakes. */
export function onQueuedBarrier(facts: QueuedBarrier): QueuedDecision {
  const { barrier, newest, alignment, nowMs } = facts
  const isFirst = barrier.checkpointId > Math.max(newest, alignment.lastSettled)
  const afterMs = overtakesAfter(barrier, nowMs)
  if (!isFirst || afterMs === undefined) return { kind: 'none' }
  return { kind: 'overtake', afterMs }
}

/** Time after which a barrier overtakes, in ms, 0 if it does so now; undefined for one that never does. */
export function overtakesAfter(barrier: Barrier, nowMs: number): number | undefined {
  const { alignedTimeoutMs, timestampMs, mode } = barrier
  if (alignedTimeoutMs === undefined || mode !== 'exactly-once') return undefined
  return Math.max(0, timestampMs + alignedTimeoutMs - nowMs)
}

/** Channels whose barrier of this checkpoint was read already: no record in front of it is left there. */
export function channelsRead(alignment: AlignmentState, checkpointId: number): ReadonlySet<number> {
  const { pending } = alignment
  return pending?.barrier.checkpointId === checkpointId ? pending.arrived : new Set()
}
