import type { DeliveryGuarantee, SinkWriter, SinkWriterContext } from '../../operators/sink.ts'
import type { ProducerIdentity } from '../log/log-backend.ts'
import { RecordSender, type RecordSerializer, type RecordTarget } from '../log/outgoing-record.ts'
import { decodeCommittable, encodeCommittable, type TransactionWitness } from './committable.ts'
import { TransactionPool, type TransactionStore } from './transaction-pool.ts'

/** Where the first acknowledged batch of an identity lies, once what it sent is settled. */
export interface SentUnderIdentity {
  readonly witness?: TransactionWitness | undefined
}

/** What a `TwoPhaseSinkWriter` sends its records with. */
export interface TransactionalProducer extends RecordTarget {
  ready(): boolean
  whenReady(): Promise<void>
  /** Sends what is gathered. */
  dispatch(): void
  /** Resolves when what was dispatched before is durable. Throws what it met. */
  settled(): Promise<void>
  /** Records sent from now on are of this identity; those before must be dispatched. */
  continueWith(identity: ProducerIdentity): SentUnderIdentity
}

/** A topic that a `TwoPhaseSinkWriter` writes to. */
export interface TransactionalTopic {
  readonly transactions: TransactionStore
  /** A producer; without transactions when no identity is given. Called once. */
  openProducer(identity: ProducerIdentity | undefined): Promise<TransactionalProducer>
  /** Closes the producer too. */
  close(): Promise<void>
}

/** How results are written. */
export interface TwoPhaseSinkOptions<T> {
  readonly serialize: RecordSerializer<T>
  /** Default `at-least-once`. */
  readonly guarantee?: DeliveryGuarantee
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
  private written = 0
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
    if (this.guarantee !== 'exactly-once') {
      this.producer = await topic.openProducer(undefined)
      return
    }
    const { transactions } = topic
    await Promise.all(restored.map((bytes) => transactions.commit(decodeCommittable(bytes), true)))
    const pool = await TransactionPool.open(transactions, context)
    this.pool = pool
    // Subtasks beside this one may not have committed yet what was restored to them. At the first
    // barrier all of them have opened.
    if (context.parallelism === 1) await pool.abortLeftovers()
    else this.leftoversPending = true
    this.transaction = await pool.next()
    this.producer = await topic.openProducer(this.transaction)
    await pool.prepareSpare()
  }

  write(value: T, timestamp: number): void {
    this.written += 1
    this.sender.send(value, timestamp, this.producer!)
  }

  ready(): boolean {
    return this.producer!.ready()
  }

  whenReady(): Promise<void> {
    return this.producer!.whenReady()
  }

  async prepareCommit(_checkpointId: number): Promise<readonly Uint8Array[]> {
    const producer = this.producer!
    if (this.guarantee === 'exactly-once') return await this.prepareTransaction(producer)
    producer.dispatch()
    if (this.guarantee === 'at-least-once') await producer.settled()
    return []
  }

  /** Input waits meanwhile, so what can be waited for is waited for at the same time. */
  private async prepareTransaction(producer: TransactionalProducer): Promise<Uint8Array[]> {
    const pool = this.pool!
    // Synchronous up to the wait: what is written while the old transaction is on its way belongs
    // to the next one.
    const ended = this.written > 0 ? this.transaction : undefined
    let sent: SentUnderIdentity = {}
    if (ended !== undefined) {
      this.written = 0
      producer.dispatch()
      this.transaction = pool.takeSpare()
      sent = producer.continueWith(this.transaction)
    }
    const leftovers = this.leftoversPending
    this.leftoversPending = false
    await Promise.all([
      ended === undefined ? undefined : producer.settled(),
      leftovers ? pool.abortLeftovers() : undefined,
      pool.prepareSpare(),
    ])
    if (ended === undefined) return []
    return [encodeCommittable({ identity: ended, witness: sent.witness })]
  }

  async commit(committables: readonly Uint8Array[]): Promise<void> {
    await Promise.all(committables.map((bytes) => this.pool!.commit(decodeCommittable(bytes))))
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
