import type { RecordHeader } from '../../wire/batch/record-batch-format.ts'

/** One record of a topic, as `LogSource.raw` and `KafkaSource.raw` deliver it. */
export interface TopicRecord {
  readonly key: Uint8Array | null
  /** Null marks a deletion (tombstone). */
  readonly value: Uint8Array | null
  /** Milliseconds since 1970, -1 for none. */
  readonly timestamp: number
  readonly partition: number
  readonly offset: number
  readonly headers: readonly RecordHeader[]
}

/**
 * The current record of a poll, in place: key and value are slices of `bytes`, valid only until the
 * deserializer returns. A length of -1 means null.
 */
export interface RecordView {
  readonly bytes: Uint8Array
  readonly keyStart: number
  readonly keyLength: number
  readonly valueStart: number
  readonly valueLength: number
  readonly timestamp: number
  readonly offset: number
  /** Views of key and value. They allocate, unlike the numbers above. */
  key(): Uint8Array | null
  value(): Uint8Array | null
  headers(): RecordHeader[]
  /** The value of the first header with a name, in UTF-8; undefined without one. No other header is decoded. */
  header(name: Uint8Array): Uint8Array | null | undefined
}

/**
 * Makes a value of a record; undefined drops the record. Bytes that the value keeps must be copied.
 * Every error means that the record cannot be decoded.
 */
export type RecordDeserializer<T> = (record: RecordView, partition: number) => T | undefined

/** Deserializer of whole records, with copied bytes. */
export const topicRecordDeserializer: RecordDeserializer<TopicRecord> = (record, partition) => ({
  key: record.key()?.slice() ?? null,
  value: record.value()?.slice() ?? null,
  timestamp: record.timestamp,
  partition,
  offset: record.offset,
  headers: record.headers().map(({ key, value }) => ({ key, value: value?.slice() ?? null })),
})
