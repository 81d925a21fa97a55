import type { RecordHeader } from '../../batch/record-batch-format.ts'

/** One record of a topic, as `LogSource` delivers it where no deserializer is given. */
export interface LogRecord {
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
 * The present record of a poll, seen in place: key and value are slices of `bytes` and valid only
 * until the deserializer returns. A length of -1 means null.
 */
export interface RecordView {
  readonly bytes: Uint8Array
  readonly keyStart: number
  readonly keyLength: number
  readonly valueStart: number
  readonly valueLength: number
  readonly timestamp: number
  readonly offset: number
  /** Views on key and value; allocate, unlike the numbers above. */
  key(): Uint8Array | null
  value(): Uint8Array | null
  headers(): RecordHeader[]
}

/**
 * Makes a value of a record; undefined drops the record. What it keeps of the bytes it must copy.
 * Whatever it throws makes the record undecodable.
 */
export type RecordDeserializer<T> = (record: RecordView, partition: number) => T | undefined

/** The whole record with copied bytes. */
export const logRecordDeserializer: RecordDeserializer<LogRecord> = (record, partition) => ({
  key: record.key()?.slice() ?? null,
  value: record.value()?.slice() ?? null,
  timestamp: record.timestamp,
  partition,
  offset: record.offset,
  headers: record.headers().map(({ key, value }) => ({ key, value: value?.slice() ?? null })),
})
