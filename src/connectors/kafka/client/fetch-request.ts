import type { Reader } from '@platformatic/kafka'
import { readInt16, readInt32, readInt64 } from '../../../batch/record-batch-format.ts'
import { type AbortedTransaction, NO_ABORTED_TRANSACTIONS } from './aborted-transactions.ts'
import { createAPI, Writer } from './library.ts'

/** One partition of a fetch request. */
export interface FetchPartition {
  readonly partition: number
  /**
   * Epoch of the leader in the metadata. Without it, a broker that no longer leads answers as a follower: its
   * end of the partition is behind that of the leader (KIP-320, KIP-392).
   */
  readonly leaderEpoch: number
  readonly offset: number
}

/** A fetch request for partitions of one topic that have the same leader. */
export interface FetchRequest {
  readonly topicId: string
  readonly partitions: readonly FetchPartition[]
  /** The broker waits this long for `minBytes`, ms. */
  readonly maxWaitMs: number
  readonly minBytes: number
  readonly maxBytes: number
  readonly partitionMaxBytes: number
  readonly readCommitted: boolean
}

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
  /** Encoded record batches; the last one may be incomplete. */
  readonly records: Uint8Array
}

/** The answer to a fetch request. */
export interface FetchAnswer {
  readonly error: number
  readonly partitions: readonly FetchedPartition[]
}

const FETCH_KEY = 1
/** The first version that names topics by id (Kafka 3.1); nothing later is needed. */
const FETCH_VERSION = 13
const NO_RECORDS = new Uint8Array(0)

/** The fetch API; its answers keep record batches as the broker sent them. */
export const fetchApi = createAPI<[request: FetchRequest], FetchAnswer>(
  FETCH_KEY,
  FETCH_VERSION,
  encodeFetch,
  (_correlation, _key, _version, reader) => decodeFetch(reader),
)

function encodeFetch(request: FetchRequest): Writer {
  return Writer.create()
    .appendInt32(-1)
    .appendInt32(request.maxWaitMs)
    .appendInt32(request.minBytes)
    .appendInt32(request.maxBytes)
    .appendInt8(request.readCommitted ? 1 : 0)
    .appendInt32(0)
    .appendInt32(-1)
    .appendArray([request], (topic) => {
      topic.appendUUID(request.topicId).appendArray([...request.partitions], (w, entry) => {
        w.appendInt32(entry.partition)
          .appendInt32(entry.leaderEpoch)
          .appendInt64(BigInt(entry.offset))
          .appendInt32(-1)
          .appendInt64(-1n)
          .appendInt32(request.partitionMaxBytes)
      })
    })
    .appendArray([], () => undefined)
    .appendString('')
    .appendTaggedFields()
}

/** Cursor over an answer in one piece of memory: records are slices of it. */
class AnswerCursor {
  readonly bytes: Uint8Array
  private at = 0

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  int16(): number {
    this.at += 2
    return readInt16(this.bytes, this.at - 2)
  }

  int32(): number {
    this.at += 4
    return readInt32(this.bytes, this.at - 4)
  }

  int64(): number {
    this.at += 8
    return readInt64(this.bytes, this.at - 8)
  }

  varuint(): number {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = this.bytes[this.at++]! | 0
      value |= (byte & 0x7f) << shift
      if (byte < 0x80 || shift > 28) return value >>> 0
    }
  }

  skip(length: number): void {
    this.at += length
  }

  slice(length: number): Uint8Array {
    this.at += length
    return this.bytes.subarray(this.at - length, this.at)
  }

  taggedFields(): void {
    for (let left = this.varuint(); left > 0; left--) {
      this.varuint()
      this.skip(this.varuint())
    }
  }

  /** A compact array: its length plus one, 0 for none. */
  array<T>(element: () => T): T[] {
    const length = this.varuint() - 1
    const items: T[] = []
    for (let i = 0; i < length; i++) items.push(element())
    return items
  }
}

function decodeFetch(reader: Reader): FetchAnswer {
  // The library joins the answer's chunks here: the one copy between socket and decoder.
  const whole = reader.buffer.slice(reader.position)
  const cursor = new AnswerCursor(new Uint8Array(whole.buffer, whole.byteOffset, whole.length))
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
  cursor.taggedFields()
  return {
    partition,
    error,
    // Only a read_committed request gets a last stable offset.
    limit: lastStableOffset >= 0 ? lastStableOffset : highWatermark,
    highWatermark,
    logStart,
    aborted: aborted.length === 0 ? NO_ABORTED_TRANSACTIONS : aborted,
    records,
  }
}
