import { WeirError } from '../core/errors.ts'
import { crc32c } from '../core/hash/crc32c.ts'
import { checkBatch } from './check-batch.ts'
import { BATCH_FIELDS, readInt32, setBaseOffset, writeInt32 } from './record-batch-format.ts'

/** The leader epoch of a batch without this checksum: those that earlier releases stored. */
const NO_CHECKSUM = -1

/**
 * Checksum of a batch's position in a file of the embedded log. Kafka's checksum begins at the attributes, because
 * a broker sets the base offset. The log has no leaders, so it stores in the leader epoch the lower 31
 * bits of the CRC-32C of the 12 bytes before it: base offset and length.
 */
function positionChecksum(bytes: Uint8Array, at: number): number {
  return crc32c(bytes, at, at + BATCH_FIELDS.leaderEpoch) & 0x7fffffff
}

/** Sets the base offset of a batch that is to be stored, and the checksum of its position. */
export function placeBatch(bytes: Uint8Array, at: number, baseOffset: number): void {
  setBaseOffset(bytes, at, baseOffset)
  writeInt32(bytes, at + BATCH_FIELDS.leaderEpoch, positionChecksum(bytes, at))
}

/** Whether a stored batch has a checksum of its position; those of earlier releases have none. */
export function hasPositionChecksum(bytes: Uint8Array, at: number): boolean {
  return readInt32(bytes, at + BATCH_FIELDS.leaderEpoch) !== NO_CHECKSUM
}

/** Checks base offset and length of a stored batch, if they have a checksum. Throws CHECKSUM_MISMATCH. */
export function checkPosition(bytes: Uint8Array, at: number): void {
  const stored = readInt32(bytes, at + BATCH_FIELDS.leaderEpoch)
  if (stored === NO_CHECKSUM || stored === positionChecksum(bytes, at)) return
  const message = `the batch at ${at} differs from the checksum of its base offset and length`
  throw new WeirError('CHECKSUM_MISMATCH', message)
}

/** Checks a stored batch whole and returns its size. Throws as `checkBatch` and `checkPosition`. */
export function checkStoredBatch(bytes: Uint8Array, at: number, end: number): number {
  const size = checkBatch(bytes, at, end)
  checkPosition(bytes, at)
  return size
}
