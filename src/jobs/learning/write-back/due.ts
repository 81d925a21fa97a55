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

/** Facts for the decision. */
export interface WriteBackFacts {
  /** Whether the topic has the complete version. */
  readonly isPresent: boolean
  /** What the topic's rows include; undefined before the first write-back. */
  readonly before: LearnedPart | undefined
  /** What the rows of the checkpoint include. */
  readonly now: Pick<LearnedPart, 'observations' | 'observationsId' | 'next' | 'folded'>
}

/**
 * Whether a version is written back: where a checkpoint includes observations or deltas that the
 * topic's rows do not.
 */
export function decideWriteBack({ isPresent, before, now }: WriteBackFacts): WriteBackDecision {
  if (!isPresent) return 'no-version'
  if (now.next.every((offset) => offset < 0)) return 'not-learned'
  const isSame =
    before !== undefined &&
    before.observations === now.observations &&
    (before.observationsId ?? now.observationsId) === now.observationsId &&
    before.folded === now.folded &&
    before.next.length === now.next.length &&
    before.next.every((offset, partition) => offset === now.next[partition])
  return isSame ? 'up-to-date' : 'write'
}
