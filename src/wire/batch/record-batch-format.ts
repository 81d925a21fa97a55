import { WeirError } from '../../core/errors.ts'

/**
 * Kafka's record batch, magic 2: the one record format of Weir on disk, on the wire and between
 * threads. All fixed-width numbers are big-endian.
 *
 *      0        8        12       16   17     21     23        27         35        43
 *      +--------+--------+--------+----+------+------+---------+----------+---------+
 *      | base   | batch  | leader |mag-| crc  |attri-| last    | base     | max     |
 *      | offset | length | epoch  |ic  |      |butes | offset  | timestamp| time-   |
 *      | i64    | i32    | i32    |i8=2| u32  | i16  | delta   | i64      | stamp   |
 *      |        |        |        |    |      |      | i32     |          | i64     |
 *      +--------+--------+--------+----+------+------+---------+----------+---------+
 *      43         51       53         57        61
 *      +----------+--------+----------+---------+----------------------------------+
 *      | producer | producer base     | records | records (compressed as a whole   |
 *      | id i64   | epoch  | sequence | count   | when attributes say so)          |
 *      |          | i16    | i32      | i32     |                                  |
 *      +----------+--------+----------+---------+----------------------------------+
 *
 *      batch length counts the bytes after itself; crc is CRC-32C of everything from `attributes`.
 *      attributes: bits 0-2 compression (0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd), bit 3 timestamp
 *      type (1: every record has the max timestamp), bit 4 transactional, bit 5 control.
 *
 *      record:  length varint | attributes i8 = 0 | timestamp delta varlong | offset delta varint
 *               | key length varint (-1 null) | key | value length varint (-1 null) | value
 *               | header count varint | headers
 *      header:  key length varint | key UTF-8 | value length varint (-1 null) | value
 *
 * Varints are zigzag LEB128. Source: the message format chapter of Kafka's protocol guide.
 */
export const MAGIC = 2
/** Bytes before the first record. */
export const BATCH_HEADER_SIZE = 61
/** Bytes before those that the batch length counts. */
export const BATCH_PREFIX_SIZE = 12

/** Byte positions of the header's fields. */
export const BATCH_FIELDS = {
  baseOffset: 0,
  batchLength: 8,
  leaderEpoch: 12,
  magic: 16,
  crc: 17,
  attributes: 21,
  lastOffsetDelta: 23,
  baseTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  producerEpoch: 51,
  baseSequence: 53,
  recordsCount: 57,
} as const

/** Attribute bits of the compression codec. */
export const COMPRESSION_MASK = 0x07
/** Attribute bit: every record has the max timestamp. */
export const LOG_APPEND_TIME_BIT = 0x08
/** Attribute bit: the batch belongs to a transaction. */
export const TRANSACTIONAL_BIT = 0x10
/** Attribute bit: the batch ends a transaction. */
export const CONTROL_BIT = 0x20

/** A header of a record. */
export interface RecordHeader {
  readonly key: string
  readonly value: Uint8Array | null
}

/** Reads a signed 16-bit number. */
export function readInt16(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) >> 16) | bytes[at + 1]!
}

/** Reads a signed 32-bit number. */
export function readInt32(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!
}

/** Reads a signed 64-bit number as a double: exact within 53 bits, else rounded. */
export function readInt64(bytes: Uint8Array, at: number): number {
  return readInt32(bytes, at) * 4294967296 + (readInt32(bytes, at + 4) >>> 0)
}

/** Writes the low 16 bits of `value`. */
export function writeInt16(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 8
  bytes[at + 1] = value
}

/** Writes the low 32 bits of `value`. */
export function writeInt32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24
  bytes[at + 1] = value >>> 16
  bytes[at + 2] = value >>> 8
  bytes[at + 3] = value
}

/** Writes a whole number of at most 53 bits and a sign as 64-bit two's complement. */
export function writeInt64(bytes: Uint8Array, at: number, value: number): void {
  writeInt32(bytes, at, Math.floor(value / 4294967296))
  writeInt32(bytes, at + 4, value >>> 0)
}

/** Offset of the first record that the batch may hold. */
export function baseOffsetOf(bytes: Uint8Array, at: number): number {
  return readInt64(bytes, at)
}

/** Sets the offset of the batch in the partition. The checksum does not cover it. */
export function setBaseOffset(bytes: Uint8Array, at: number, offset: number): void {
  writeInt64(bytes, at, offset)
}

/** Epoch of the leader that stored the batch, -1 when none did. The checksum does not cover it. */
export function leaderEpochOf(bytes: Uint8Array, at: number): number {
  return readInt32(bytes, at + BATCH_FIELDS.leaderEpoch)
}

/** Offset of the last record, or of the last one before compaction. */
export function lastOffsetOf(bytes: Uint8Array, at: number): number {
  return readInt64(bytes, at) + readInt32(bytes, at + BATCH_FIELDS.lastOffsetDelta)
}

/** The latest timestamp of the batch, ms since 1970; -1 when no record has one. */
export function maxTimestampOf(bytes: Uint8Array, at: number): number {
  return readInt64(bytes, at + BATCH_FIELDS.maxTimestamp)
}

/** The attribute bits. */
export function attributesOf(bytes: Uint8Array, at: number): number {
  return readInt16(bytes, at + BATCH_FIELDS.attributes)
}

/** The producer id, -1 when there is none. */
export function producerIdOf(bytes: Uint8Array, at: number): number {
  return readInt64(bytes, at + BATCH_FIELDS.producerId)
}

/** The producer epoch, -1 when there is none. */
export function producerEpochOf(bytes: Uint8Array, at: number): number {
  return readInt16(bytes, at + BATCH_FIELDS.producerEpoch)
}

/**
 * Whole size of the batch that begins at `at`, including its 12 prefix bytes; -1 when fewer than these
 * 12 bytes are before `end`. Throws MALFORMED_DATA for an impossible length.
 */
export function batchSizeAt(bytes: Uint8Array, at: number, end: number): number {
  if (at + BATCH_PREFIX_SIZE > end) return -1
  const length = readInt32(bytes, at + BATCH_FIELDS.batchLength)
  if (length < BATCH_HEADER_SIZE - BATCH_PREFIX_SIZE) {
    throw new WeirError('MALFORMED_DATA', `the batch at ${at} claims ${length} bytes; at least 49`)
  }
  return length + BATCH_PREFIX_SIZE
}
