import { isWeirError, messageOf, WeirError } from '../../core/errors.ts'
import type { TransactionWitness } from '../transactions/committable.ts'
import type { KafkaCluster } from './kafka-cluster.ts'
import { KAFKA_ERRORS, kafkaError } from './kafka-errors.ts'
import type { KafkaIdentity } from './kafka-identity.ts'
import { addPartitionsToTxnV3 } from './kafka-library.ts'
import { retryDelay } from './kafka-retry.ts'
import { type ProducedPartition, produceApi } from './produce-request.ts'

/** What batches of one identity share. */
export interface BatchOrigin {
  readonly identity: KafkaIdentity | undefined
  /** Partitions that the broker knows to be part of the transaction. */
  readonly added: Set<number>
  /** Where the first batch that was acknowledged lies, of whatever partition. */
  witness: TransactionWitness | undefined
}

/** A batch on its way. */
export interface OutgoingBatch {
  readonly partition: number
  readonly bytes: Uint8Array
  readonly origin: BatchOrigin
  /** Monotonic time after which it is given up, ms. */
  readonly giveUpAt: number
  readonly done: () => void
}

/** Batches of one partition in their order; only the first is ever with the broker. */
interface Lane {
  readonly waiting: OutgoingBatch[]
  busy: boolean
  tries: number
}

const BROKER_TIMEOUT_MS = 30_000

/**
 * Brings batches to the leaders of their partitions. Per partition one batch is on its way at a
 * time, so that a repeated one is never overtaken and sequence numbers stay in order whatever fails.
 */
export class BatchSender {
  failure: unknown
  private readonly cluster: KafkaCluster
  private readonly topic: string
  private readonly acks: -1 | 1
  private readonly onFailure: () => void
  private readonly lanes: Lane[] = []
  private pumping = false
  private closed = false

  constructor(cluster: KafkaCluster, topic: string, acks: -1 | 1, onFailure: () => void) {
    this.cluster = cluster
    this.topic = topic
    this.acks = acks
    this.onFailure = onFailure
  }

  /** Takes a batch; `done` is called when it is acknowledged, or when all is given up. */
  send(batch: OutgoingBatch): void {
    if (this.failure !== undefined) {
      batch.done()
      return
    }
    let lane = this.lanes[batch.partition]
    if (lane === undefined) {
      lane = { waiting: [], busy: false, tries: 0 }
      this.lanes[batch.partition] = lane
    }
    lane.waiting.push(batch)
    this.pump()
  }

  /** Gives up everything with this error; later batches too. */
  fail(error: unknown): void {
    if (this.failure !== undefined) return
    this.failure = error
    for (const lane of this.lanes) for (const batch of lane?.waiting.splice(0) ?? []) batch.done()
    this.onFailure()
  }

  /** Gives up what is not acknowledged. */
  close(): void {
    this.closed = true
    this.fail(new WeirError('ILLEGAL_STATE', `the producer of "${this.topic}" was closed`))
  }

  /** Sends what is due at the end of this turn, so that batches of one turn share requests. */
  private pump(): void {
    if (this.pumping) return
    this.pumping = true
    queueMicrotask(() => {
      this.pumping = false
      this.dispatch().catch((error: unknown) => this.fail(error))
    })
  }

  private async dispatch(): Promise<void> {
    const due = this.lanes.flatMap((lane) => {
      if (lane === undefined || lane.busy || lane.waiting.length === 0) return []
      lane.busy = true
      return [lane.waiting[0]!]
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

  /** One request for batches of one leader and origin. */
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
      this.acknowledged(batch)
      return
    }
    const doing = `write to ${this.topic}/${batch.partition}`
    this.retryLater(batch, kafkaError(error, doing, result?.errorMessage))
  }

  private acknowledged(batch: OutgoingBatch): void {
    const lane = this.lanes[batch.partition]!
    lane.busy = false
    lane.tries = 0
    if (lane.waiting[0] === batch) {
      lane.waiting.shift()
      batch.done()
    }
  }

  /** Tries the batch again after a while, at whoever leads then; fails all when that is in vain. */
  private retryLater(batch: OutgoingBatch, error: unknown): void {
    if (this.failure !== undefined) return
    if (!isWeirError(error) || !error.retryable) {
      this.fail(error)
      return
    }
    const { clock, random } = this.cluster
    if (clock.monotonicMs() > batch.giveUpAt) {
      const message = `a batch for ${this.topic}/${batch.partition} was not acknowledged in time; the last answer: ${messageOf(error)}`
      this.fail(new WeirError('CONNECTOR_FAILED', message, { cause: error }))
      return
    }
    this.cluster.forgetLeaders(this.topic)
    const lane = this.lanes[batch.partition]!
    clock.after(retryDelay(random, lane.tries, error), () => {
      lane.busy = false
      if (!this.closed) this.pump()
    })
    lane.tries += 1
  }

  /** Makes the partitions part of the transaction, which is what their first batch needs. */
  private async addPartitions(batches: readonly OutgoingBatch[]): Promise<void> {
    const { identity, added } = batches[0]!.origin
    const transactionalId = identity?.transactionalId
    if (identity === undefined || transactionalId === undefined) return
    const partitions = batches.map(({ partition }) => partition).filter((p) => !added.has(p))
    if (partitions.length === 0) return
    await this.cluster.callCoordinator(
      'transaction',
      transactionalId,
      `partitions of "${transactionalId}"`,
      (connection) =>
        connection.call(addPartitionsToTxnV3.api, [
          {
            transactionalId,
            producerId: BigInt(identity.producerId),
            producerEpoch: identity.epoch,
            verifyOnly: false,
            topics: [{ name: this.topic, partitions }],
          },
        ]),
      ({ resultsByTransaction }) => {
        const errors = resultsByTransaction
          .flatMap(({ topicResults }) => topicResults)
          .flatMap(({ resultsByPartition }) => resultsByPartition)
          .map(({ partitionErrorCode }) => partitionErrorCode)
        // One partition that fails has the others answer that they were not tried.
        return errors.find((e) => e !== 0 && e !== KAFKA_ERRORS.OPERATION_NOT_ATTEMPTED) ?? 0
      },
    )
    for (const partition of partitions) added.add(partition)
  }
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
