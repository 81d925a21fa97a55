import { intersectKeyGroups, type KeyGroupRange } from '../../core/key-group.ts'
import type { SegmentReference } from './checkpoint-types.ts'

/**
 * A chain: references of one operator, oldest first, in which of one key the newest entry counts.
 * Invariant: a key group has at most one full segment, and it is the oldest of that key group.
 * A reference whose file holds more than still counts has a narrowed range; a file whose middle
 * was replaced has two references.
 */
export type SegmentChain = readonly SegmentReference[]

/** A compaction's result: `output` stands for `inputs` within its own key groups. */
export interface ChainReplacement {
  readonly inputs: readonly SegmentReference[]
  readonly output: SegmentReference
}

/** Appends a segment; a full one cuts the older ones of its key groups. */
export function appendSegment(chain: SegmentChain, segment: SegmentReference): SegmentChain {
  const kept = segment.full ? cutKeyGroups(chain, segment.keyGroups) : chain
  return [...kept, segment]
}

/** The chain without these key groups. */
export function cutKeyGroups(chain: SegmentChain, keyGroups: KeyGroupRange): SegmentChain {
  return chain.flatMap((segment) => withoutKeyGroups(segment, keyGroups))
}

/**
 * Puts a compacted segment in place of its inputs, or returns undefined when they are not all in
 * the chain any more (a full segment has cut them).
 */
export function replaceSegments(
  chain: SegmentChain,
  replacement: ChainReplacement,
): SegmentChain | undefined {
  const { inputs, output } = replacement
  const isInput = (segment: SegmentReference): boolean =>
    inputs.some((input) => isSameReference(input, segment))
  if (chain.filter(isInput).length !== inputs.length) return undefined
  const kept = chain.flatMap((segment) =>
    isInput(segment) ? withoutKeyGroups(segment, output.keyGroups) : [segment],
  )
  return [...kept, output].sort(byAge)
}

/** Orders segments from the oldest; those of different key groups may come in any order. */
export function byAge(a: SegmentReference, b: SegmentReference): number {
  return (
    a.checkpointId - b.checkpointId ||
    a.sequence - b.sequence ||
    a.keyGroups.first - b.keyGroups.first
  )
}

/** The part of a chain that lies in `keyGroups`, with narrowed ranges. */
export function chainOf(chain: SegmentChain, keyGroups: KeyGroupRange): SegmentChain {
  return chain.flatMap((segment) => {
    const range = intersectKeyGroups(segment.keyGroups, keyGroups)
    return range === undefined ? [] : [{ ...segment, keyGroups: range }]
  })
}

/** Whether both refer to the same key groups of the same file. */
export function isSameReference(a: SegmentReference, b: SegmentReference): boolean {
  return (
    a.path === b.path &&
    a.keyGroups.first === b.keyGroups.first &&
    a.keyGroups.last === b.keyGroups.last
  )
}

function withoutKeyGroups(segment: SegmentReference, cut: KeyGroupRange): SegmentReference[] {
  const { first, last } = segment.keyGroups
  if (cut.last < first || cut.first > last) return [segment]
  const parts: SegmentReference[] = []
  if (first < cut.first) {
    parts.push({ ...segment, keyGroups: { first, last: cut.first - 1 } })
  }
  if (last > cut.last) parts.push({ ...segment, keyGroups: { first: cut.last + 1, last } })
  return parts
}
