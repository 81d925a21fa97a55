import type { KeyGroupRange } from '../../../../src/core/key-group.ts'
import type { SegmentReference } from '../../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import { openSegment, visitSpans } from '../../../../src/runtime/checkpoint/segment/reader.ts'
import type { CheckpointStorage } from '../../../../src/runtime/checkpoint/storage/checkpoint-storage.ts'
import { keyOfSpan, type StateName, valueOfSpan } from '../../../../src/state/port/change.ts'

/** Visitor of entries; key and value are views that are valid only during the call. */
export type EntryVisitor = (
  keyGroup: number,
  state: StateName,
  key: Uint8Array,
  value: Uint8Array | undefined,
) => void

/** Opens a segment and visits its entries, as a restore of one segment does. */
export async function readSegment(
  storage: CheckpointStorage,
  reference: SegmentReference,
  keyGroups: KeyGroupRange,
  visit: EntryVisitor,
): Promise<void> {
  const segment = await openSegment(storage, reference)
  await visitSpans(segment, keyGroups, (keyGroup, state, entry) =>
    visit(keyGroup, state, keyOfSpan(entry), valueOfSpan(entry)),
  )
}
