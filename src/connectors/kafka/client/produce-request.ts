import { createAPI, produceV9, Writer } from './library.ts'

/** Encoded batches for the partitions of one topic that have the same leader. */
export interface ProduceRequest {
  readonly topic: string
  readonly transactionalId: string | undefined
  /** -1: all in-sync replicas, 1: the leader alone. */
  readonly acks: -1 | 1
  /** How long the leader may wait for the replicas, ms. */
  readonly timeoutMs: number
  readonly batches: readonly { readonly partition: number; readonly bytes: Uint8Array }[]
}

/** The leader's answer for one partition. */
export interface ProducedPartition {
  readonly index: number
  readonly errorCode: number
  /** Offset of the batch's first record, -1 when unknown. */
  readonly baseOffset: bigint
  readonly errorMessage?: string | null | undefined
}

interface ProduceAnswer {
  readonly responses: readonly { readonly partitionResponses: readonly ProducedPartition[] }[]
}

const PRODUCE_KEY = 0
/**
 * The first flexible version; later ones add leader hints that are not needed. From version 12 on the
 * broker itself adds partitions to transactions, and epochs change at every commit, whereas handles of
 * prepared transactions name one epoch.
 */
const PRODUCE_VERSION = 9

/** The produce API; batches are sent unchanged. */
export const produceApi = createAPI<[request: ProduceRequest], ProduceAnswer>(
  PRODUCE_KEY,
  PRODUCE_VERSION,
  encodeProduce,
  produceV9.parseResponse,
)

function encodeProduce(request: ProduceRequest): Writer {
  return Writer.create()
    .appendString(request.transactionalId)
    .appendInt16(request.acks)
    .appendInt32(request.timeoutMs)
    .appendArray([request], (topic) => {
      topic.appendString(request.topic).appendArray([...request.batches], (w, batch) => {
        const { buffer, byteOffset, length } = batch.bytes
        w.appendInt32(batch.partition)
          .appendUnsignedVarInt(length + 1)
          .append(Buffer.from(buffer, byteOffset, length))
      })
    })
    .appendTaggedFields()
}
