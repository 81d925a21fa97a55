import type { RecordHeader } from '../../wire/batch/record-batch-format.ts'

/**
 * A record of a model topic in the bytes of its batch (`RecordView`), valid until the next record. A length
 * of -1 means null.
 */
export interface ModelTopicRecord {
  readonly bytes: Uint8Array
  readonly keyStart: number
  readonly keyLength: number
  readonly valueStart: number
  readonly valueLength: number
  /** Headers, for records of a topic. */
  headers?(): readonly RecordHeader[]
  /** The value of the first header with a name, in UTF-8, which no other header is decoded for; undefined without one. */
  header?(name: Uint8Array): Uint8Array | null | undefined
}

/** A view of the record's key, null when it has none. */
export function keyBytesOf({ bytes, keyStart, keyLength }: ModelTopicRecord): Uint8Array | null {
  return keyLength < 0 ? null : bytes.subarray(keyStart, keyStart + keyLength)
}

/** A view of the record's value, null when it is a tombstone. */
export function valueBytesOf({
  bytes,
  valueStart,
  valueLength,
}: ModelTopicRecord): Uint8Array | null {
  return valueLength < 0 ? null : bytes.subarray(valueStart, valueStart + valueLength)
}
