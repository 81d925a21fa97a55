import type { Clock } from '../../core/clock.ts'
import { isWeirError } from '../../core/errors.ts'
import { type Deadline, type Moment, momentOf } from '../../core/moment.ts'
import { aFunction, required } from '../../core/options/kinds.ts'
import type { OptionShape } from '../../core/options/shape.ts'
import {
  type DeliveryGuarantee,
  GUARANTEE,
  type SinkWriter,
  type SinkWriterContext,
} from '../../operators/port/sink.ts'
import {
  RecordSender,
  type RecordSerializer,
  type RecordTarget,
} from '../records/outgoing-record.ts'
import { decodeCommittable, encodeCommittable, type TransactionWitness } from './committable.ts'
import { TransactionPool, type TransactionStore } from './pool.ts'
import { PreparedTransactions } from './prepared-transactions.ts'
import type { ProducerIdentity } from './producer-identity.ts'

/** Records that were sent under one identity. */
export interface SentUnderIdentity {
  /** Position of the first acknowledged batch; final when the records are settled. */
  readonly witness?: TransactionWitness | undefined
}

/** Producer of a `TwoPhaseSinkWriter`. */
export interface TransactionalProducer extends RecordTarget {
  ready(): boolean
  whenReady(): Promise<void>
  /** Sends all gathered records. */
  dispatch(): void
  /** Sends all gathered records and resolves when they are acknowledged. Throws the failure of an append. */
  flush(): Promise<void>
  /** Resolves when everything dispatched before is durable. Throws the failure of an append. */
  settled(): Promise<void>
  /** Records sent from now on are of this identity; those before must be dispatched. */
  continueWith(identity: ProducerIdentity): SentUnderIdentity
}

/** Topic of a `TwoPhaseSinkWriter`. */
export interface TransactionalTopic {
  readonly transactions: TransactionStore
  /** Opens the producer; without transactions when no identity is given. Called once. */
  openProducer(identity: ProducerIdentity | undefined): Promise<TransactionalProducer>
  /** Closes the producer too. */
  close(): Promise<void>
}

/** Options of a `TwoPhaseSinkWriter`. */
export interface TwoPhaseSinkOptions<T> {
  readonly serialize: RecordSerializer<T>
  /** Default `at-least-once`. */
  readonly guarantee?: DeliveryGuarantee
}

/** The options of a `TwoPhaseSinkWriter`. */
export const TWO_PHASE_SINK: OptionShape<TwoPhaseSinkOptions<unknown>> = {
  serialize: required(aFunction()),
  guarantee: GUARANTEE,
}

/**
 * Writes the results of one subtask to a topic. Exactly-once: the records of one checkpoint interval
 * are one transaction; at the barrier it is sent, and its handle goes into the checkpoint.
 */
export class TwoPhaseSinkWriter<T> implements SinkWriter<T> {
  private readonly guarantee: DeliveryGuarantee
  private readonly sender: RecordSender<T>
  private readonly openTopic: (context: SinkWriterContext) => Promise<TransactionalTopic>
  private topic: TransactionalTopic | undefined
  private pool: TransactionPool | undefined
  private producer: TransactionalProducer | undefined
  private transaction: ProducerIdentity | undefined
  /** Records written since the transaction began. */
  private inTransaction = 0
  private began: Moment = { wallMs: 0, monotonicMs: 0 }
  private prepared: PreparedTransactions | undefined
  private clock: Clock | undefined
  private leftoversPending = false

  constructor(
    options: TwoPhaseSinkOptions<T>,
    openTopic: (context: SinkWriterContext) => Promise<TransactionalTopic>,
  ) {
    this.guarantee = options.guarantee ?? 'at-least-once'
    this.sender = new RecordSender(options.serialize)
    this.openTopic = openTopic
  }

  async open(context: SinkWriterContext, restored: readonly Uint8Array[]): Promise<void> {
    const topic = await this.openTopic(context)
    this.topic = topic
    this.clock = context.clock
    if (this.guarantee !== 'exactly-once') {
      this.producer = await topic.openProducer(undefined)
      return
    }
    const { transactions } = topic
    await Promise.all(restored.map((bytes) => commitRestored(transactions, context, bytes)))
    const pool = await TransactionPool.open(transactions, context)
    this.pool = pool
    this.prepared = new PreparedTransactions(transactions, context.clock)
    // Other subtasks may not have committed their restored transactions yet. At the first barrier all
    // of them have opened.
    if (context.parallelism === 1) await pool.abortLeftovers()
    else this.leftoversPending = true
    this.transaction = await pool.next()
    this.producer = await topic.openProducer(this.transaction)
    await pool.prepareSpare()
  }

  write(value: T, timestamp: number): void {
    if (this.inTransaction++ === 0) this.began = momentOf(this.clock!)
    this.sender.send(value, timestamp, this.producer!)
  }

  ready(): boolean {
    return this.producer!.ready()
  }

  whenReady(): Promise<void> {
    return this.producer!.whenReady()
  }

  async written(): Promise<void> {
    if (this.guarantee !== 'exactly-once') await this.producer!.flush()
  }

  async prepareCommit(_checkpointId: number): Promise<readonly Uint8Array[]> {
    const producer = this.producer!
    if (this.guarantee === 'exactly-once') return await this.prepareTransaction(producer)
    producer.dispatch()
    if (this.guarantee === 'at-least-once') await producer.settled()
    return []
  }

  /** The input waits for this, so all requests run at the same time. */
  private async prepareTransaction(producer: TransactionalProducer): Promise<Uint8Array[]> {
    const pool = this.pool!
    // Synchronous up to the first wait: records that are written meanwhile belong to the next
    // transaction.
    const { began, transaction } = this
    const ended = this.inTransaction > 0 ? transaction : undefined
    let sent: SentUnderIdentity = {}
    if (ended !== undefined || pool.isStale(transaction!)) {
      this.inTransaction = 0
      producer.dispatch()
      this.transaction = pool.takeSpare()
      sent = producer.continueWith(this.transaction)
      if (ended === undefined) pool.release(transaction!)
    }
    const leftovers = this.leftoversPending
    this.leftoversPending = false
    await Promise.all([
      ended === undefined ? undefined : producer.settled(),
      leftovers ? pool.abortLeftovers() : undefined,
      pool.prepareSpare(),
    ])
    if (ended !== undefined) this.prepared!.add(ended, began)
    await this.prepared!.requireAlive()
    if (ended === undefined) return []
    return [encodeCommittable({ identity: ended, witness: sent.witness })]
  }

  async commit(committables: readonly Uint8Array[]): Promise<void> {
    await Promise.all(
      committables.map(async (bytes) => {
        const committable = decodeCommittable(bytes)
        await this.pool!.commit(committable)
        this.prepared!.remove(committable.identity)
      }),
    )
  }

  commitBy(): Deadline | undefined {
    return this.prepared?.commitBy
  }

  async close(): Promise<void> {
    const { producer } = this
    try {
      if (this.guarantee !== 'exactly-once') {
        producer?.dispatch()
        await producer?.settled()
      }
    } finally {
      await this.topic?.close()
    }
  }
}

/** Commits a restored transaction; one that was lost is an error unless the job accepts it. */
async function commitRestored(
  transactions: TransactionStore,
  { onLostTransaction }: SinkWriterContext,
  bytes: Uint8Array,
): Promise<void> {
  try {
    await transactions.commit(decodeCommittable(bytes), true)
  } catch (error) {
    if (onLostTransaction === undefined || !isWeirError(error, 'INVALID_TRANSACTION')) throw error
    onLostTransaction(error)
  }
}
