import { intersectKeyGroups, type KeyGroupRange } from '../../../core/key-group.ts'
import type { SegmentReference } from './checkpoint-types.ts'

/**
 * A chain: references of one operator, oldest first; the newest entry of a key counts. Invariant: a key
 * group has at most one full segment, and it is the oldest of that key group. If only some key groups
 * of a file still count, its reference has a narrowed range; a file whose middle was replaced has two
 * references.
 */
export type SegmentChain = readonly SegmentReference[]

/** Result of a compaction: `output` replaces `inputs` within its own key groups. */
export interface ChainReplacement {
  readonly inputs: readonly SegmentReference[]
  readonly output: SegmentReference
}

/** Appends a segment; a full one removes the older ones of its key groups. */
export function appendSegment(chain: SegmentChain, segment: SegmentReference): SegmentChain {
  const kept = segment.full ? cutKeyGroups(chain, segment.keyGroups) : chain
  return [...kept, segment]
}

/** The chain without these key groups. */
function cutKeyGroups(chain: SegmentChain, keyGroups: KeyGroupRange): SegmentChain {
  return chain.flatMap((segment) => withoutKeyGroups(segment, keyGroups))
}

/**
 * Replaces the inputs of a compaction by its output. Undefined when the inputs are not all in the
 * chain, because a full segment has replaced them.
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

/**
 * Orders segments from the oldest to the newest; the order between different key groups does not
 * matter.
 */
export function byAge(a: SegmentReference, b: SegmentReference): number {
  return (
    a.checkpointId - b.checkpointId ||
    a.sequence - b.sequence ||
    a.keyGroups.first - b.keyGroups.first
  )
}

/** The part of a chain within `keyGroups`, with narrowed ranges. */
export function chainOf(chain: SegmentChain, keyGroups: KeyGroupRange): SegmentChain {
  return chain.flatMap((segment) => {
    const range = intersectKeyGroups(segment.keyGroups, keyGroups)
    return range === undefined ? [] : [{ ...segment, keyGroups: range }]
  })
}

/** Whether both refer to the same key groups of the same file. */
function isSameReference(a: SegmentReference, b: SegmentReference): boolean {
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
