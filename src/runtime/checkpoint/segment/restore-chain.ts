import {
  containsKeyGroup,
  intersectKeyGroups,
  type KeyGroupRange,
} from '../../../core/key-group.ts'
import type { WasmMemory } from '../../../core/lifetime/wasm-memory.ts'
import type { SegmentReference } from '../protocol/checkpoint-types.ts'
import type { CheckpointStorage } from '../storage/checkpoint-storage.ts'
import type { SpanVisitor } from './block.ts'
import type { SliceIndex } from './format.ts'
import { type OpenSegment, openSegment, readMemoryOf, visitSpans } from './reader.ts'

/** Options of a restore of a chain. */
export interface ChainRestore {
  readonly storage: CheckpointStorage
  /** Newest first, as `planRestore` gives them. */
  readonly segments: readonly SegmentReference[]
  readonly keyGroups: KeyGroupRange
  /** Visits the entries: the first one of a key counts, and the same entry may come twice. */
  readonly visit: SpanVisitor
  /** Called before the first entry with an upper limit of their number. */
  readonly expect?: (entries: number) => void
  /**
   * The next key group to restore first, because a query waits for it; -1 for none. Each is returned
   * once.
   */
  readonly wanted: () => number
}

/**
 * Restores the keyed state of one subtask, newest segment first. A key group for which a query waits is
 * restored first, over the complete chain, so that the first answers do not wait for all of the state.
 * Throws as `visitSpans`.
 */
export async function restoreChain(options: ChainRestore): Promise<void> {
  const { storage, segments, keyGroups, visit, wanted } = options
  const chain = await Promise.all(segments.map((segment) => openSegment(storage, segment)))
  options.expect?.(chain.reduce((sum, segment) => sum + entriesOf(segment, keyGroups), 0))
  const memory = readMemoryOf(chain)
  let memoryAhead: WasmMemory | undefined
  const ahead = new Set<number>()
  const between = async (): Promise<void> => {
    for (let group = wanted(); group >= 0; group = wanted()) {
      if (ahead.has(group) || !containsKeyGroup(keyGroups, group)) continue
      memoryAhead ??= readMemoryOf(chain)
      for (const segment of chain) {
        await visitSpans(segment, { first: group, last: group }, visit, { memory: memoryAhead })
      }
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
  for (const segment of chain)
    await visitSpans(segment, keyGroups, visit, { between, skips, memory })
}

/**
 * Estimated entries of a segment in the key groups: its footer has the number for complete blocks only.
 */
function entriesOf({ footer, reference }: OpenSegment, keyGroups: KeyGroupRange): number {
  const shared = intersectKeyGroups(keyGroups, reference.keyGroups)
  if (shared === undefined) return 0
  const all = footer.blocks.reduce((sum, { entries }) => sum + entries, 0)
  return Math.ceil((all * groupsIn(shared)) / groupsIn(reference.keyGroups))
}

function groupsIn({ first, last }: KeyGroupRange): number {
  return last - first + 1
}
