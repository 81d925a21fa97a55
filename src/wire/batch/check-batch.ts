import { WeirError } from '../../core/errors.ts'
import { crc32c } from '../../core/hash/crc32c.ts'
import {
  BATCH_FIELDS,
  baseOffsetOf,
  batchSizeAt,
  lastOffsetOf,
  MAGIC,
  readInt32,
} from './record-batch-format.ts'

/**
 * Checks the header and the checksum of the batch at `at` and returns its size. Throws MALFORMED_DATA
 * (incomplete, impossible offsets), UNSUPPORTED_VERSION or CHECKSUM_MISMATCH.
 */
export function checkBatch(bytes: Uint8Array, at: number, end: number): number {
  const size = batchSizeAt(bytes, at, end)
  if (size < 0 || at + size > end) {
    throw new WeirError('MALFORMED_DATA', `the batch at ${at} is cut off`)
  }
  const magic = bytes[at + BATCH_FIELDS.magic]!
  if (magic !== MAGIC) {
    throw new WeirError('UNSUPPORTED_VERSION', `record batch magic ${magic}; only 2 is read`)
  }
  const stored = readInt32(bytes, at + BATCH_FIELDS.crc) >>> 0
  if (stored !== crc32c(bytes, at + BATCH_FIELDS.attributes, at + size)) {
    throw new WeirError('CHECKSUM_MISMATCH', `the batch at ${at} differs from its checksum`)
  }
  const base = baseOffsetOf(bytes, at)
  const last = lastOffsetOf(bytes, at)
  if (base < 0 || last < base - 1 || !Number.isSafeInteger(last)) {
    throw new WeirError('MALFORMED_DATA', `the batch at ${at} has impossible offsets`)
  }
  return size
}
