import type { LearnedPart } from '../../../models/registry/learned-part.ts'

/** Whether rows of a version are to be written back. */
export type WriteBackDecision =
  /** The version is not in the topic any more, or not yet. */
  | 'no-version'
  /** Nothing was learned on it. */
  | 'not-learned'
  /** The topic has all that was learned. */
  | 'up-to-date'
  | 'write'
  /** The topic has rows of a run that was given up: all rows of the version are written. */
  | 'replace'

/** Facts for the decision. */
export interface WriteBackFacts {
  /** Whether the topic has the complete version. */
  readonly isPresent: boolean
  /** What the topic's rows include; undefined before the first write-back. */
  readonly before: LearnedPart | undefined
  /** What the rows of the checkpoint include. */
  readonly now: Pick<LearnedPart, 'observations' | 'observationsId' | 'next' | 'folded'>
  /**
   * How far the version was learned where this run began; undefined if it began without a checkpoint, or has written
   * since.
   */
  readonly begun?: LearnedUpTo | undefined
}

/** How far a version is learned: by partition, the first offset that is not; -1 for none. */
export type LearnedUpTo = Pick<LearnedPart, 'next' | 'deltas'>

/**
 * Whether the topic's rows include what a run had not learned when it began from a checkpoint: it began from an older
 * one, and the run that wrote the rows was given up. What this run learns again differs from that, because deltas come
 * in another order.
 */
export function isGivenUp(
  before: LearnedPart | undefined,
  begun: LearnedUpTo | undefined,
): boolean {
  if (before === undefined || begun === undefined) return false
  return isAhead(before.next, begun.next) || isAhead(before.deltas ?? [], begun.deltas ?? [])
}

function isAhead(offsets: readonly number[], begun: readonly number[]): boolean {
  return offsets.some((offset, partition) => offset > (begun[partition] ?? -1))
}

/**
 * Whether a version is written back: where a checkpoint includes observations or deltas that the
 * topic's rows do not, or the topic has rows of a run that was given up.
 */
export function decideWriteBack({
  isPresent,
  before,
  now,
  begun,
}: WriteBackFacts): WriteBackDecision {
  if (!isPresent) return 'no-version'
  if (now.next.every((offset) => offset < 0)) return 'not-learned'
  if (isGivenUp(before, begun)) return 'replace'
  const isSame =
    before !== undefined &&
    before.observations === now.observations &&
    (before.observationsId ?? now.observationsId) === now.observationsId &&
    before.folded === now.folded &&
    before.next.length === now.next.length &&
    before.next.every((offset, partition) => offset === now.next[partition])
  return isSame ? 'up-to-date' : 'write'
}
