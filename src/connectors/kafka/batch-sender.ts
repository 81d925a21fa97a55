import { isWeirError, messageOf, WeirError } from '../../core/errors.ts'
import { BATCH_FIELDS, readInt32 } from '../../wire/batch/record-batch-format.ts'
import type { MakeSmaller } from '../records/smaller-record.ts'
import type { TransactionWitness } from '../transactions/committable.ts'
import {
  coordinatorRight,
  type KafkaRequest,
  requestOf,
  topicRight,
} from './client/access-rights.ts'
import type { KafkaCluster } from './client/cluster.ts'
import { isAbortable, isTooLarge, KAFKA_ERRORS, kafkaError } from './client/errors.ts'
import type { KafkaIdentity } from './client/identity.ts'
import { addPartitionsToTxnV3 } from './client/library.ts'
import { type ProducedPartition, produceApi } from './client/produce-request.ts'
import { retryDelay } from './client/retry.ts'
import { isOfRecord, type LeaveOut, type Refusal, recordRefused } from './record-refused.ts'
import { singleRecord, smallerBatches } from './refused-batch.ts'

/** State that the batches of one identity share. */
export interface BatchOrigin {
  readonly identity: KafkaIdentity | undefined
  /** Partitions that were added to the transaction. */
  readonly added: Set<number>
  /** Position of the first acknowledged batch, in any partition. */
  witness: TransactionWitness | undefined
}

/** A batch to send. */
export interface OutgoingBatch {
  readonly partition: number
  readonly bytes: Uint8Array
  readonly origin: BatchOrigin
  /** Monotonic time after which there are no more attempts, ms. */
  readonly giveUpAt: number
  /**
   * Called when the batch is acknowledged, with the offset of its last record, or when sending has failed; -1 where
   * the offset is not known.
   */
  readonly done: (lastOffset: number) => void
}

/** Puts all batches of a partition that are not acknowledged under the producer's present id, in their order. */
export type Renumber = (
  partition: number,
  batches: readonly OutgoingBatch[],
) => readonly OutgoingBatch[]

/** Options of a `BatchSender`. */
export interface BatchSenderOptions {
  readonly cluster: KafkaCluster
  readonly topic: string
  /** -1: every in-sync replica acknowledges a batch; 1: the leader alone. */
  readonly acks: -1 | 1
  /** Called once with the error that ends all sending. */
  readonly onFailure: (error: unknown) => void
  /** Called with the size of a batch of several records that the broker refused as too large. */
  readonly onRefusedSize: (bytes: number) => void
  /**
   * Takes another producer id in place of that of an origin without transactions, which the broker no longer
   * accepts, and returns what puts the batches of a partition under it.
   */
  readonly renewProducer: (refused: BatchOrigin) => Promise<Renumber>
  /** Makes a smaller record of one that is too large alone; default: that ends all sending. */
  readonly makeSmaller?: MakeSmaller | undefined
  /** Handles a record that the topic refuses, which is then left out; default: that ends all sending. */
  readonly leaveOut?: LeaveOut | undefined
  /** The batches behind one that is left out, with the sequence numbers that it leaves free. */
  readonly closeGap: (
    leftOut: OutgoingBatch,
    behind: readonly OutgoingBatch[],
  ) => readonly OutgoingBatch[]
}

/** The batches of one partition in order. Only the first is ever sent to a broker. */
interface PartitionQueue {
  readonly batches: OutgoingBatch[]
  /** Whether the first batch is being sent, or waits for its next attempt. */
  busy: boolean
  /** Failed attempts to send the first batch. */
  tries: number
}

const BROKER_TIMEOUT_MS = 30_000
const UNKNOWN_OFFSET = -1

/**
 * Sends batches to the leaders of their partitions. One batch per partition is sent at a time, so that
 * no later batch overtakes a repeated one, and sequence numbers stay in order after any failure.
 */
export class BatchSender {
  private failure: unknown
  private readonly cluster: KafkaCluster
  private readonly topic: string
  private readonly acks: -1 | 1
  private readonly onFailure: (error: unknown) => void
  private readonly onRefusedSize: (bytes: number) => void
  private readonly renewProducer: (refused: BatchOrigin) => Promise<Renumber>
  private readonly makeSmaller: MakeSmaller | undefined
  private readonly leaveOut: LeaveOut | undefined
  private readonly closeGap: BatchSenderOptions['closeGap']
  private readonly queues: (PartitionQueue | undefined)[] = []
  private pumping = false
  private closed = false

  constructor(options: BatchSenderOptions) {
    this.cluster = options.cluster
    this.topic = options.topic
    this.acks = options.acks
    this.onFailure = options.onFailure
    this.onRefusedSize = options.onRefusedSize
    this.renewProducer = options.renewProducer
    this.makeSmaller = options.makeSmaller
    this.leaveOut = options.leaveOut
    this.closeGap = options.closeGap
  }

  /** Queues a batch. */
  send(batch: OutgoingBatch): void {
    if (this.failure !== undefined) {
      batch.done(UNKNOWN_OFFSET)
      return
    }
    let queue = this.queues[batch.partition]
    if (queue === undefined) {
      queue = { batches: [], busy: false, tries: 0 }
      this.queues[batch.partition] = queue
    }
    queue.batches.push(batch)
    this.pump()
  }

  /** Ends all sending with this error, also of later batches. */
  fail(error: unknown): void {
    if (this.failure !== undefined) return
    this.failure = error
    for (const queue of this.queues) {
      for (const batch of queue?.batches.splice(0) ?? []) batch.done(UNKNOWN_OFFSET)
    }
    this.onFailure(error)
  }

  /** Drops the batches that are not acknowledged. */
  close(): void {
    this.closed = true
    this.fail(new WeirError('ILLEGAL_STATE', `the producer of "${this.topic}" was closed`))
  }

  /** Sends the queued batches at the end of this turn, so that batches of one turn share requests. */
  private pump(): void {
    if (this.pumping) return
    this.pumping = true
    queueMicrotask(() => {
      this.pumping = false
      this.dispatch().catch((error: unknown) => this.fail(error))
    })
  }

  private async dispatch(): Promise<void> {
    const due = this.queues.flatMap((queue) => {
      if (queue === undefined || queue.busy || queue.batches.length === 0) return []
      queue.busy = true
      return [queue.batches[0]!]
    })
    if (due.length === 0) return
    for (const [leader, batches] of await this.byLeader(due)) {
      for (const group of byOrigin(batches)) {
        this.deliver(leader, group).catch((error: unknown) => this.fail(error))
      }
    }
  }

  private async byLeader(batches: OutgoingBatch[]): Promise<Map<number, OutgoingBatch[]>> {
    const groups = new Map<number, OutgoingBatch[]>()
    for (const batch of batches) {
      try {
        const leader = await this.cluster.leaderOf(this.topic, batch.partition)
        const group = groups.get(leader)
        if (group === undefined) groups.set(leader, [batch])
        else group.push(batch)
      } catch (error) {
        this.retryLater(batch, error)
      }
    }
    return groups
  }

  /** Sends one request with batches of one leader and origin. */
  private async deliver(leader: number, batches: OutgoingBatch[]): Promise<void> {
    const { topic, acks } = this
    try {
      await this.addPartitions(batches)
      const connection = await this.cluster.node(leader, 'produce')
      const answer = await connection.call(produceApi, {
        topic,
        acks,
        transactionalId: batches[0]!.origin.identity?.transactionalId,
        timeoutMs: BROKER_TIMEOUT_MS,
        batches,
      })
      const results = answer.responses.flatMap(({ partitionResponses }) => partitionResponses)
      for (const batch of batches) {
        this.settle(
          batch,
          results.find(({ index }) => index === batch.partition),
        )
      }
    } catch (error) {
      for (const batch of batches) this.retryLater(batch, error)
    }
    this.pump()
  }

  private settle(batch: OutgoingBatch, result: ProducedPartition | undefined): void {
    const error = result?.errorCode ?? KAFKA_ERRORS.UNKNOWN_TOPIC_OR_PARTITION
    if (error === KAFKA_ERRORS.NONE || error === KAFKA_ERRORS.DUPLICATE_SEQUENCE_NUMBER) {
      const offset = Number(result?.baseOffset ?? -1)
      const { topic } = this
      if (offset >= 0) batch.origin.witness ??= { topic, partition: batch.partition, offset }
      const lastDelta = readInt32(batch.bytes, BATCH_FIELDS.lastOffsetDelta)
      this.acknowledged(batch, offset < 0 ? UNKNOWN_OFFSET : offset + lastDelta)
      return
    }
    if (isOfRecord(error)) {
      const refusal = { error, detail: result?.errorMessage }
      this.makeFit(batch, refusal).catch((failure: unknown) => this.fail(failure))
      return
    }
    this.retryLater(batch, kafkaError(error, this.writeOf(batch), result?.errorMessage))
  }

  private writeOf({ partition, origin }: OutgoingBatch): KafkaRequest {
    const { topic, cluster } = this
    const needs = [topicRight('Write', topic)]
    const transactionalId = origin.identity?.transactionalId
    if (transactionalId !== undefined) needs.push(coordinatorRight('transaction', transactionalId))
    return requestOf(cluster, `write to ${topic}/${partition}`, ...needs)
  }

  /**
   * Sends the halves of a batch that is refused because of a record, or a smaller record in place of a single one that
   * is too large. Throws FRAME_TOO_LARGE and RECORD_REFUSED for a single one that cannot be left out.
   */
  private async makeFit(batch: OutgoingBatch, refusal: Refusal): Promise<void> {
    const isLarge = isTooLarge(refusal.error)
    const smaller = smallerBatches(batch.bytes, isLarge ? this.makeSmaller : undefined)
    if (smaller === undefined) {
      await this.leaveRecordOut(batch, refusal)
      return
    }
    if (isLarge && smaller.length > 1) this.onRefusedSize(batch.bytes.length)
    const last = smaller.length - 1
    const done = (): void => undefined
    const others = smaller.map((bytes, i) => ({ ...batch, bytes, ...(i < last ? { done } : {}) }))
    const queue = this.queues[batch.partition]!
    queue.busy = false
    queue.tries = 0
    if (queue.batches[0] === batch) queue.batches.splice(0, 1, ...others)
    this.pump()
  }

  /** Leaves the only record of a batch out. Throws the refusal where the sink has no policy for it. */
  private async leaveRecordOut(batch: OutgoingBatch, refusal: Refusal): Promise<void> {
    const { cluster, topic, leaveOut } = this
    const error = await recordRefused(cluster, topic, batch, refusal)
    if (leaveOut === undefined) throw error
    await leaveOut(singleRecord(batch.bytes), error)
    const queue = this.queues[batch.partition]!
    queue.busy = false
    queue.tries = 0
    if (queue.batches[0] !== batch) return
    const behind = this.closeGap(batch, queue.batches.slice(1))
    queue.batches.splice(0, queue.batches.length, ...behind)
    batch.done(UNKNOWN_OFFSET)
    this.pump()
  }

  private acknowledged(batch: OutgoingBatch, lastOffset: number): void {
    const queue = this.queues[batch.partition]!
    queue.busy = false
    queue.tries = 0
    if (queue.batches[0] === batch) {
      queue.batches.shift()
      batch.done(lastOffset)
    }
  }

  /** Sends the batch again after a delay, to the leader of that time. Fails when its time is over. */
  private retryLater(batch: OutgoingBatch, error: unknown): void {
    if (this.failure !== undefined) return
    const isHealable = isAbortable(error) && isWithoutTransaction(batch)
    if (!isWeirError(error) || !(error.retryable || isHealable)) {
      this.fail(error)
      return
    }
    const { clock, random } = this.cluster
    if (clock.monotonicMs() > batch.giveUpAt) {
      const message = `a batch for ${this.topic}/${batch.partition} was not acknowledged in time; the last answer: ${messageOf(error)}`
      this.fail(new WeirError('CONNECTOR_FAILED', message, { cause: error }))
      return
    }
    if (isHealable) {
      this.renew(batch).catch((failure: unknown) => this.fail(failure))
      return
    }
    this.cluster.forgetLeaders(this.topic)
    const queue = this.queues[batch.partition]!
    clock.after(retryDelay(random, queue.tries, error), () => {
      queue.busy = false
      if (!this.closed) this.pump()
    })
    queue.tries += 1
  }

  /**
   * Sends the batch, and those behind it, under another producer id. The broker stored nothing of them: it
   * has lost batches before them, as in an unclean election of a leader, or has forgotten the producer.
   */
  private async renew({ partition, origin }: OutgoingBatch): Promise<void> {
    const renumber = await this.renewProducer(origin)
    if (this.failure !== undefined) return
    const queue = this.queues[partition]!
    const { batches } = queue
    batches.splice(0, batches.length, ...renumber(partition, batches))
    const { clock, random } = this.cluster
    clock.after(retryDelay(random, queue.tries++), () => {
      queue.busy = false
      if (!this.closed) this.pump()
    })
  }

  /** Adds the partitions to the transaction, which must happen before their first batch. */
  private async addPartitions(batches: readonly OutgoingBatch[]): Promise<void> {
    const { identity, added } = batches[0]!.origin
    const transactionalId = identity?.transactionalId
    if (identity === undefined || transactionalId === undefined) return
    const partitions = batches.map(({ partition }) => partition).filter((p) => !added.has(p))
    if (partitions.length === 0) return
    await this.cluster.callCoordinator({
      kind: 'transaction',
      key: transactionalId,
      doing: `partitions of "${transactionalId}"`,
      needs: [topicRight('Write', this.topic)],
      request: (connection) =>
        connection.call(addPartitionsToTxnV3.api, [
          {
            transactionalId,
            producerId: BigInt(identity.producerId),
            producerEpoch: identity.epoch,
            verifyOnly: false,
            topics: [{ name: this.topic, partitions }],
          },
        ]),
      errorOf: ({ resultsByTransaction }) =>
        firstError(
          resultsByTransaction
            .flatMap(({ topicResults }) => topicResults)
            .flatMap(({ resultsByPartition }) => resultsByPartition)
            .map(({ partitionErrorCode }) => partitionErrorCode),
        ),
    })
    for (const partition of partitions) added.add(partition)
  }
}

function isWithoutTransaction({ origin: { identity } }: OutgoingBatch): boolean {
  return identity !== undefined && identity.transactionalId === undefined
}

/** If one partition fails, the broker answers for the others that they were not attempted. */
function firstError(errors: readonly number[]): number {
  return errors.find((e) => e !== 0 && e !== KAFKA_ERRORS.OPERATION_NOT_ATTEMPTED) ?? 0
}

function byOrigin(batches: readonly OutgoingBatch[]): OutgoingBatch[][] {
  const groups = new Map<BatchOrigin, OutgoingBatch[]>()
  for (const batch of batches) {
    const group = groups.get(batch.origin)
    if (group === undefined) groups.set(batch.origin, [batch])
    else group.push(batch)
  }
  return [...groups.values()]
}
