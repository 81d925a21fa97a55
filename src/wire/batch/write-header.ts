import { crc32c } from '../../core/hash/crc32c.ts'
import {
  BATCH_FIELDS,
  BATCH_PREFIX_SIZE,
  CONTROL_BIT,
  MAGIC,
  TRANSACTIONAL_BIT,
  writeInt16,
  writeInt32,
  writeInt64,
} from './record-batch-format.ts'

/** Header fields of a batch that its records do not determine. */
export interface HeaderOptions {
  /** Whether to compute the checksum; false only for batches that never leave the process. */
  readonly checksum?: boolean
  readonly producerId?: number
  readonly producerEpoch?: number
  readonly baseSequence?: number
  readonly transactional?: boolean
  readonly control?: boolean
  readonly leaderEpoch?: number
}

/** Header fields of a batch that its records determine. */
export interface BatchContent {
  readonly baseOffset: number
  readonly lastOffsetDelta: number
  readonly baseTimestamp: number
  readonly maxTimestamp: number
  readonly records: number
  /** Number of the compression codec. */
  readonly codecId: number
}

/** Writes the header of a batch whose records follow it, up to `length`. */
export function writeHeader(
  bytes: Uint8Array,
  length: number,
  content: BatchContent,
  options: HeaderOptions,
): void {
  const attributes =
    content.codecId |
    (options.transactional === true ? TRANSACTIONAL_BIT : 0) |
    (options.control === true ? CONTROL_BIT : 0)
  writeInt64(bytes, BATCH_FIELDS.baseOffset, content.baseOffset)
  writeInt32(bytes, BATCH_FIELDS.batchLength, length - BATCH_PREFIX_SIZE)
  writeInt32(bytes, BATCH_FIELDS.leaderEpoch, options.leaderEpoch ?? -1)
  bytes[BATCH_FIELDS.magic] = MAGIC
  writeInt16(bytes, BATCH_FIELDS.attributes, attributes)
  writeInt32(bytes, BATCH_FIELDS.lastOffsetDelta, content.lastOffsetDelta)
  writeInt64(bytes, BATCH_FIELDS.baseTimestamp, content.baseTimestamp)
  writeInt64(bytes, BATCH_FIELDS.maxTimestamp, content.maxTimestamp)
  writeInt64(bytes, BATCH_FIELDS.producerId, options.producerId ?? -1)
  writeInt16(bytes, BATCH_FIELDS.producerEpoch, options.producerEpoch ?? -1)
  writeInt32(bytes, BATCH_FIELDS.baseSequence, options.baseSequence ?? -1)
  writeInt32(bytes, BATCH_FIELDS.recordsCount, content.records)
  const crc = options.checksum === false ? 0 : crc32c(bytes, BATCH_FIELDS.attributes, length)
  writeInt32(bytes, BATCH_FIELDS.crc, crc)
}
