import { type KeyGroupRange, keyGroupRangeOf } from '../../../core/key-group.ts'
import type { OperatorManifest, SegmentReference } from './checkpoint-types.ts'
import { chainOf } from './segment-chain.ts'

/** Policy of when to merge segments. */
export interface CompactionPolicy {
  /** Longest chain of a subtask's key groups that is not merged. */
  readonly maxChainLength: number
  /** Smallest number of segments in a merge. */
  readonly minMerged: number
  /** A segment joins a merge of younger ones while it has at most this many times their bytes. */
  readonly sizeRatio: number
  /** Bytes of the younger segments, relative to the oldest one, from which everything is merged. */
  readonly maxOverhead: number
}

/**
 * The default policy, similar to RocksDB's universal compaction. Sizes in a chain double, so the longest one limits how far
 * state can grow before large segments are merged for each new small one: with 8 within an hour of checkpoints each
 * second, with 16 not within ten hours (docs/decisions/checkpoints.md#chains-of-segments).
 */
export const DEFAULT_COMPACTION_POLICY: CompactionPolicy = Object.freeze({
  maxChainLength: 16,
  minMerged: 3,
  sizeRatio: 1.5,
  maxOverhead: 1,
})

/** Decision which part of a chain to merge. */
export type CompactionDecision =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'merge'
      readonly uid: string
      readonly keyGroups: KeyGroupRange
      /** Neighbours in the chain, oldest first, as the manifest refers to them. */
      readonly inputs: readonly SegmentReference[]
      /** Whether the oldest is among them, so that deleted keys can be dropped. */
      readonly full: boolean
      /** Names of the states that the operator still has. */
      readonly declared: ReadonlySet<string>
    }

/**
 * Chooses one subtask of the operator whose chain is too long, and the neighbours in it to merge:
 * all of them if the younger segments are together as large as the oldest; otherwise the longest run
 * of younger ones of similar size; otherwise as many of the youngest as bring the chain to its limit.
 */
export function decideCompaction(
  operator: OperatorManifest,
  policy: CompactionPolicy,
): CompactionDecision {
  for (let subtask = 0; subtask < operator.parallelism; subtask++) {
    const keyGroups = keyGroupRangeOf(subtask, operator.parallelism, operator.maxParallelism)
    const clipped = chainOf(operator.segments, keyGroups)
    if (clipped.length <= policy.maxChainLength) continue
    const count = countToMerge(clipped.map(bytesOf(operator.segments)), policy)
    const chosen = clipped.slice(clipped.length - count)
    return {
      kind: 'merge',
      uid: operator.uid,
      keyGroups,
      inputs: chosen.map((segment) => originalOf(operator.segments, segment)),
      full: count === clipped.length,
      declared: new Set(operator.declarations.map(({ name }) => name)),
    }
  }
  return { kind: 'none' }
}

/** How many of the youngest segments to merge; `bytes` oldest first. */
function countToMerge(bytes: readonly number[], policy: CompactionPolicy): number {
  const younger = bytes.slice(1).reduce((sum, size) => sum + size, 0)
  if (younger >= bytes[0]! * policy.maxOverhead) return bytes.length
  let total = bytes.at(-1)!
  let count = 1
  while (count < bytes.length - 1) {
    const next = bytes[bytes.length - 1 - count]!
    if (next > total * policy.sizeRatio) break
    total += next
    count += 1
  }
  return Math.max(count, policy.minMerged, bytes.length - policy.maxChainLength + 1)
}

/** Bytes of the part of a segment, if its key groups are equally large. */
function bytesOf(segments: readonly SegmentReference[]): (part: SegmentReference) => number {
  return (part) => {
    const { keyGroups } = originalOf(segments, part)
    const share =
      (part.keyGroups.last - part.keyGroups.first + 1) / (keyGroups.last - keyGroups.first + 1)
    return part.bytes * share
  }
}

function originalOf(
  segments: readonly SegmentReference[],
  part: SegmentReference,
): SegmentReference {
  return segments.find(
    (segment) =>
      segment.path === part.path &&
      segment.keyGroups.first <= part.keyGroups.first &&
      segment.keyGroups.last >= part.keyGroups.last,
  )!
}
