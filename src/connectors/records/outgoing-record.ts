import type { RecordHeader } from '../../wire/batch/record-batch-format.ts'

/** A record that is about to be written. One object is reused for all records and reset before each. */
export interface OutgoingRecord {
  key: Uint8Array | null
  value: Uint8Array | null
  /** Event time in ms: that of the value, unless the serializer sets another. */
  timestamp: number
  /** -1: chosen by key. */
  partition: number
  headers: readonly RecordHeader[]
}

/** Fills in the record of a value. The bytes are copied before the next call. */
export type RecordSerializer<T> = (value: T, record: OutgoingRecord) => void

/** Receiver of records without an object for each: the producers of the embedded log and of Kafka. */
export interface RecordTarget {
  /** Adds a record; partition -1 chooses by key as Java does. Throws the failure of an earlier one. */
  sendRecord(
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    partition: number,
    headers: readonly RecordHeader[],
  ): void
}

const NO_HEADERS: readonly RecordHeader[] = []

/** Serializes the values of one sink writer into a single reused record and sends it. */
export class RecordSender<T> {
  private readonly serialize: RecordSerializer<T>
  private readonly record: OutgoingRecord = {
    key: null,
    value: null,
    timestamp: -1,
    partition: -1,
    headers: NO_HEADERS,
  }

  constructor(serialize: RecordSerializer<T>) {
    this.serialize = serialize
  }

  /** Sends the record of a value. Throws the errors of the serializer and the producer. */
  send(value: T, timestamp: number, target: RecordTarget): void {
    const record = this.record
    record.key = null
    record.value = null
    record.timestamp = timestamp
    record.partition = -1
    record.headers = NO_HEADERS
    this.serialize(value, record)
    target.sendRecord(record.key, record.value, record.timestamp, record.partition, record.headers)
  }
}
