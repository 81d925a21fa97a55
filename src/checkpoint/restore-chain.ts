import { containsKeyGroup, intersectKeyGroups, type KeyGroupRange } from '../core/key-group.ts'
import type { CheckpointStorage } from './checkpoint-storage.ts'
import type { SegmentReference } from './protocol/checkpoint-types.ts'
import type { SpanVisitor } from './segment-block.ts'
import type { SliceIndex } from './segment-format.ts'
import { type OpenSegment, openSegment, visitSpans } from './segment-reader.ts'

/** What a chain is restored with. */
export interface ChainRestore {
  readonly storage: CheckpointStorage
  /** Newest first, as `planRestore` gives them. */
  readonly segments: readonly SegmentReference[]
  readonly keyGroups: KeyGroupRange
  /** Takes the entries: the first one of a key counts, and the same one may come twice. */
  readonly visit: SpanVisitor
  /** Is told, before the first entry, how many there are at most. */
  readonly expect?: (entries: number) => void
  /** A key group that somebody waits for, each told once; -1 if there is none. */
  readonly wanted: () => number
}

/**
 * Restores the keyed state of one subtask, newest segment first. A key group that a query waits for is
 * restored ahead of its turn, over the whole chain, so that the first answers do not wait for all of
 * the state. Throws as `readSegment`.
 */
export async function restoreChain(options: ChainRestore): Promise<void> {
  const { storage, segments, keyGroups, visit, wanted } = options
  const chain = await Promise.all(segments.map((segment) => openSegment(storage, segment)))
  options.expect?.(chain.reduce((sum, segment) => sum + entriesOf(segment, keyGroups), 0))
  const ahead = new Set<number>()
  const between = async (): Promise<void> => {
    for (let group = wanted(); group >= 0; group = wanted()) {
      if (ahead.has(group) || !containsKeyGroup(keyGroups, group)) continue
      for (const segment of chain) await visitSpans(segment, { first: group, last: group }, visit)
      ahead.add(group)
    }
  }
  const skips = ({ firstGroup, lastGroup }: SliceIndex): boolean => {
    if (ahead.size === 0) return false
    for (let group = firstGroup; group <= lastGroup; group++) {
      if (!ahead.has(group)) return false
    }
    return true
  }
  for (const segment of chain) await visitSpans(segment, keyGroups, visit, { between, skips })
}

/** Entries of a segment in the key groups, as far as its footer tells: it counts whole blocks. */
function entriesOf({ footer, reference }: OpenSegment, keyGroups: KeyGroupRange): number {
  const shared = intersectKeyGroups(keyGroups, reference.keyGroups)
  if (shared === undefined) return 0
  const all = footer.blocks.reduce((sum, { entries }) => sum + entries, 0)
  return Math.ceil((all * groupsIn(shared)) / groupsIn(reference.keyGroups))
}

function groupsIn({ first, last }: KeyGroupRange): number {
  return last - first + 1
}
