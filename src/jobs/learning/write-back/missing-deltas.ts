import { WeirError } from '../../../core/errors.ts'
import type { LearnedPart } from '../../../models/registry/learned-part.ts'

/** What is known of a version and of the deltas topic when a learner without a checkpoint begins. */
export interface DeltasFacts {
  readonly version: number
  /** What the version's rows include; undefined for one that was never written back. */
  readonly learned: LearnedPart | undefined
  /** What the rows of the other versions include. */
  readonly others: readonly LearnedPart[]
  /** Name of the deltas topic. */
  readonly topic: string
  /** By partition of the deltas topic, the first offset that it holds. */
  readonly starts: readonly number[]
}

/**
 * Requires the deltas that a version's written rows do not include: without them, items would lose what was
 * learned after the last write-back, while their observations count as seen. A version that was learned on
 * before another one was written back for the last time after the switch, so later deltas are not its own.
 * Throws OFFSET_OUT_OF_RANGE.
 */
export function requireDeltas({ version, learned, others, topic, starts }: DeltasFacts): void {
  if (learned?.deltas === undefined) return
  if (others.some(({ atMs }) => atMs > learned.atMs)) return
  for (const [partition, from] of learned.deltas.entries()) {
    const start = starts[partition] ?? 0
    if (from < 0 || start <= from) continue
    const message = `deltas of version ${version} were deleted before they were written back: its rows include partition ${partition} of "${topic}" up to offset ${from}, and the topic begins at ${start}; start the learner with the checkpoints of the one before, or publish a new version, and keep deltas for longer than the time between two write-backs`
    throw new WeirError('OFFSET_OUT_OF_RANGE', message, {
      details: { topic, partition, offset: from, logStart: start },
    })
  }
}
