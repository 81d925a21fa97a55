import { containsKeyGroup, type KeyGroupRange } from '../core/key-group.ts'
import type { CheckpointStorage } from './checkpoint-storage.ts'
import type { SegmentReference } from './protocol/checkpoint-types.ts'
import type { SpanVisitor } from './segment-block.ts'
import type { SliceIndex } from './segment-format.ts'
import { openSegment, visitSpans } from './segment-reader.ts'

/** What a chain is restored with. */
export interface ChainRestore {
  readonly storage: CheckpointStorage
  /** Newest first, as `planRestore` gives them. */
  readonly segments: readonly SegmentReference[]
  readonly keyGroups: KeyGroupRange
  /** Takes the entries: the first one of a key counts, and the same one may come twice. */
  readonly visit: SpanVisitor
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
