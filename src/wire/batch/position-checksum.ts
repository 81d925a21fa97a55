import { WeirError } from '../../core/errors.ts'
import { crc32c } from '../../core/hash/crc32c.ts'
import { checkBatch } from './check-batch.ts'
import { BATCH_FIELDS, readInt32, setBaseOffset, writeInt32 } from './record-batch-format.ts'

/** The leader epoch of a batch without this checksum: those that earlier releases stored. */
const NO_CHECKSUM = -1

/** The mark of a partition without an id: its batches look like those of earlier releases. */
export const NO_MARK = 0

/**
 * Checksum of a batch's position in a file of the embedded log. Kafka's checksum begins at the attributes, because
 * a broker sets the base offset. The log has no leaders, so it stores in the leader epoch the lower 31
 * bits of the CRC-32C of the 12 bytes before it, base offset and length, XOR the mark of the partition: 31 bits
 * that no other partition has, so that a segment in the folder of another one is noticed. Batches of earlier releases
 * are without a mark.
 */
function positionChecksum(bytes: Uint8Array, at: number): number {
  return crc32c(bytes, at, at + BATCH_FIELDS.leaderEpoch) & 0x7fffffff
}

/** Sets the base offset of a batch that is to be stored, and the checksum of its position. */
export function placeBatch(
  bytes: Uint8Array,
  at: number,
  { baseOffset, mark }: { readonly baseOffset: number; readonly mark: number },
): void {
  setBaseOffset(bytes, at, baseOffset)
  writeInt32(bytes, at + BATCH_FIELDS.leaderEpoch, positionChecksum(bytes, at) ^ mark)
}

/** The mark of the partition whose batch this is, if its position is right; `NO_MARK` for one without a mark. */
export function markOf(bytes: Uint8Array, at: number): number {
  const stored = readInt32(bytes, at + BATCH_FIELDS.leaderEpoch)
  return stored === NO_CHECKSUM ? NO_MARK : stored ^ positionChecksum(bytes, at)
}

/** Whether a stored batch has a checksum of its position; those of earlier releases have none. */
export function hasPositionChecksum(bytes: Uint8Array, at: number): boolean {
  return readInt32(bytes, at + BATCH_FIELDS.leaderEpoch) !== NO_CHECKSUM
}

/**
 * Checks base offset and length of a stored batch, and the mark of its partition, as far as it has them. Throws
 * CHECKSUM_MISMATCH.
 */
export function checkPosition(bytes: Uint8Array, at: number, mark: number): void {
  const found = markOf(bytes, at)
  if (found === NO_MARK || found === mark) return
  const message = `the batch at ${at} differs from the checksum of its base offset and length, or is of another partition`
  throw new WeirError('CHECKSUM_MISMATCH', message)
}

/** Checks a stored batch whole and returns its size. Throws as `checkBatch` and `checkPosition`. */
export function checkStoredBatch(
  bytes: Uint8Array,
  at: number,
  { end, mark }: { readonly end: number; readonly mark: number },
): number {
  const size = checkBatch(bytes, at, end)
  checkPosition(bytes, at, mark)
  return size
}
