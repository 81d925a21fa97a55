import { WeirError } from '../../../../core/errors.ts'
import { readInt16, readInt32, readInt64 } from '../../../../wire/batch/record-batch-format.ts'
import { type AbortedTransaction, NO_ABORTED_TRANSACTIONS } from './aborted-transactions.ts'

/** The answer for one partition. */
export interface FetchedPartition {
  readonly partition: number
  readonly error: number
  /** The end of the records that a reader of this isolation level sees, -1 when unknown. */
  readonly limit: number
  /**
   * The end of all records that are stored, -1 when unknown. Above `limit` while a transaction that began
   * before it is undecided.
   */
  readonly highWatermark: number
  readonly logStart: number
  readonly aborted: readonly AbortedTransaction[]
  /** Whether the log in front of the position is not the one that was read: it was truncated. */
  readonly diverging: boolean
  /** Encoded record batches; the last one may be incomplete. */
  readonly records: Uint8Array
}

/** The answer to a fetch request. */
export interface FetchAnswer {
  readonly error: number
  readonly partitions: readonly FetchedPartition[]
}

/** Tag of the field with the epoch from which on the log has another history. */
const DIVERGING_EPOCH = 0
const NO_RECORDS = new Uint8Array(0)

/**
 * Cursor over an answer in one piece of memory: records are slices of it. A broker, or who is in front of it,
 * may claim any length: each read past the end throws MALFORMED_DATA, so that no count makes more elements
 * than there are bytes.
 */
class AnswerCursor {
  private readonly bytes: Uint8Array
  private at = 0

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  /** Takes the next bytes; returns where they begin. */
  private take(length: number): number {
    const from = this.at
    const left = this.bytes.length - from
    if (length > left) {
      const message = `the answer to a fetch claims ${length} bytes at byte ${from}, and ${left} follow`
      throw new WeirError('MALFORMED_DATA', message)
    }
    this.at = from + length
    return from
  }

  int16(): number {
    return readInt16(this.bytes, this.take(2))
  }

  int32(): number {
    return readInt32(this.bytes, this.take(4))
  }

  int64(): number {
    return readInt64(this.bytes, this.take(8))
  }

  varuint(): number {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = this.bytes[this.take(1)]!
      value |= (byte & 0x7f) << shift
      if (byte < 0x80 || shift > 28) return value >>> 0
    }
  }

  skip(length: number): void {
    this.take(length)
  }

  slice(length: number): Uint8Array {
    const from = this.take(length)
    return this.bytes.subarray(from, from + length)
  }

  /** Skips tagged fields; returns whether one of them has this tag. */
  taggedFields(wanted = -1): boolean {
    let found = false
    for (let left = this.varuint(); left > 0; left--) {
      if (this.varuint() === wanted) found = true
      this.skip(this.varuint())
    }
    return found
  }

  /** A compact array: its length plus one, 0 for none. */
  array<T>(element: () => T): T[] {
    const length = this.varuint() - 1
    const items: T[] = []
    for (let i = 0; i < length; i++) items.push(element())
    return items
  }
}

/** Decodes the body of an answer, version 13, behind its header. Throws MALFORMED_DATA. */
export function decodeFetchAnswer(bytes: Uint8Array): FetchAnswer {
  const cursor = new AnswerCursor(bytes)
  cursor.int32()
  const error = cursor.int16()
  cursor.int32()
  const topics = cursor.array(() => {
    cursor.skip(16)
    const partitions = cursor.array(() => decodePartition(cursor))
    cursor.taggedFields()
    return partitions
  })
  return { error, partitions: withOwnMemory(topics.flat()) }
}

/** Copies the records of each partition, so that a slow partition does not hold the whole answer. */
function withOwnMemory(partitions: FetchedPartition[]): FetchedPartition[] {
  if (partitions.filter(({ records }) => records.length > 0).length < 2) return partitions
  return partitions.map((entry) => ({ ...entry, records: entry.records.slice() }))
}

function decodePartition(cursor: AnswerCursor): FetchedPartition {
  const partition = cursor.int32()
  const error = cursor.int16()
  const highWatermark = cursor.int64()
  const lastStableOffset = cursor.int64()
  const logStart = cursor.int64()
  const aborted = cursor.array(() => {
    const transaction = { producerId: cursor.int64(), firstOffset: cursor.int64() }
    cursor.taggedFields()
    return transaction
  })
  cursor.int32()
  const size = cursor.varuint() - 1
  const records = size > 0 ? cursor.slice(size) : NO_RECORDS
  const diverging = cursor.taggedFields(DIVERGING_EPOCH)
  return {
    partition,
    error,
    diverging,
    // Only a read_committed request gets a last stable offset.
    limit: lastStableOffset >= 0 ? lastStableOffset : highWatermark,
    highWatermark,
    logStart,
    aborted: aborted.length === 0 ? NO_ABORTED_TRANSACTIONS : aborted,
    records,
  }
}
