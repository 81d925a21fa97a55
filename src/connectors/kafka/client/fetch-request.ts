import { decodeFetchAnswer, type FetchAnswer } from './answers/fetch-answer.ts'
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
  /**
   * Epoch of the record before `offset`; -1 when it is not known. The broker answers with `diverging` when its
   * log has another history (KIP-595).
   */
  readonly lastFetchedEpoch: number
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

const FETCH_KEY = 1
/** The first version that names topics by id (Kafka 3.1); nothing later is needed. */
const FETCH_VERSION = 13

/** The fetch API; its answers keep record batches as the broker sent them. */
export const fetchApi = createAPI<[request: FetchRequest], FetchAnswer>(
  FETCH_KEY,
  FETCH_VERSION,
  encodeFetch,
  (_correlation, _key, _version, reader) => {
    // The library joins the answer's chunks here: the one copy between socket and decoder.
    const whole = reader.buffer.slice(reader.position)
    return decodeFetchAnswer(new Uint8Array(whole.buffer, whole.byteOffset, whole.length))
  },
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
          .appendInt32(entry.lastFetchedEpoch)
          .appendInt64(-1n)
          .appendInt32(request.partitionMaxBytes)
      })
    })
    .appendArray([], () => undefined)
    .appendString('')
    .appendTaggedFields()
}
