import type { RecordHeader } from '../../batch/record-batch-format.ts'

/** A record about to be written; one object is reused for all, and reset before each. */
export interface OutgoingRecord {
  key: Uint8Array | null
  value: Uint8Array | null
  /** Event time in ms; what the job gives unless the serializer sets another. */
  timestamp: number
  /** -1 chooses by key. */
  partition: number
  headers: readonly RecordHeader[]
}

/** Fills in the record of a value. Its bytes are copied before the next call. */
export type RecordSerializer<T> = (value: T, record: OutgoingRecord) => void

/** What takes records without an object for each: the producers of the embedded log and of Kafka. */
export interface RecordTarget {
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

  /** Sends a value's record. Throws what the serializer or the producer throws. */
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
