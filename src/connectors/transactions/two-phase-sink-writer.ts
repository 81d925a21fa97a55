import type { Clock } from '../../core/clock.ts'
import { isWeirError, WeirError } from '../../core/errors.ts'
import { ageMs, type Deadline, type Moment, momentOf } from '../../core/moment.ts'
import { required } from '../../core/options/kinds.ts'
import type { OptionShape } from '../../core/options/shape.ts'
import {
  type DeliveryGuarantee,
  GUARANTEE,
  type SinkWriter,
  type SinkWriterContext,
} from '../../operators/port/sink.ts'
import {
  closeFormat,
  functionOrFormat,
  type OpeningFormat,
  openFormat,
} from '../records/opening-format.ts'
import {
  RecordSender,
  type RecordSerializer,
  type RecordTarget,
} from '../records/outgoing-record.ts'
import { decodeCommittable, encodeCommittable, type TransactionWitness } from './committable.ts'
import { TransactionPool, type TransactionStore } from './pool.ts'
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
  readonly serialize: RecordSerializer<T> | OpeningFormat<RecordSerializer<T>>
  /** Default `at-least-once`. */
  readonly guarantee?: DeliveryGuarantee
}

/** The options of a `TwoPhaseSinkWriter`. */
export const TWO_PHASE_SINK: OptionShape<TwoPhaseSinkOptions<unknown>> = {
  serialize: required(functionOrFormat<RecordSerializer<unknown>>()),
  guarantee: GUARANTEE,
}

/**
 * Writes the results of one subtask to a topic. Exactly-once: the records of one checkpoint interval
 * are one transaction; at the barrier it is sent, and its handle goes into the checkpoint.
 */
export class TwoPhaseSinkWriter<T> implements SinkWriter<T> {
  private readonly guarantee: DeliveryGuarantee
  private readonly format: TwoPhaseSinkOptions<T>['serialize']
  private sender!: RecordSender<T>
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
    this.format = options.serialize
    this.openTopic = openTopic
  }

  async open(context: SinkWriterContext, restored: readonly Uint8Array[]): Promise<void> {
    const serialize = await openFormat(this.format, context, `sink ${context.operatorUid}`)
    this.sender = new RecordSender(serialize)
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
      await closeFormat(this.format)
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

/** What is known of an open transaction from its age. */
type TransactionHealth =
  /** Too young to have been aborted. */
  | 'alive'
  /** Its coordinator is asked. */
  | 'in-doubt'
  /** Aborted, or about to be, so that its commit may come too late. */
  | 'expired'

/** From this part of the timeout on, the coordinator is asked. */
const DOUBTFUL_PART = 0.5
/** From this part of the timeout on, a commit may come too late. */
const EXPIRED_PART = 0.95

/** Judges an open transaction by its age and its timeout, ms. */
function transactionHealth(age: number, timeoutMs: number): TransactionHealth {
  if (age > timeoutMs * EXPIRED_PART) return 'expired'
  return age > timeoutMs * DOUBTFUL_PART ? 'in-doubt' : 'alive'
}

interface PreparedTransaction {
  readonly identity: ProducerIdentity
  /** A moment before its first record. */
  readonly began: Moment
}

/**
 * The transactions of one subtask that are prepared and not committed: of the checkpoint that is being taken,
 * and of earlier ones that have not completed. A checkpoint must not count when one of them is aborted.
 */
class PreparedTransactions {
  private readonly store: TransactionStore
  private readonly clock: Clock
  private readonly prepared = new Map<string, PreparedTransaction>()

  constructor(store: TransactionStore, clock: Clock) {
    this.store = store
    this.clock = clock
  }

  /** Adds a transaction that began not before `began`. */
  add(identity: ProducerIdentity, began: Moment): void {
    this.prepared.set(identity.transactionalId, { identity, began })
  }

  /** Removes a transaction that is committed. */
  remove({ transactionalId }: ProducerIdentity): void {
    this.prepared.delete(transactionalId)
  }

  /** Checks that each of them can still be committed. Throws TRANSACTION_ABORTED. */
  async requireAlive(): Promise<void> {
    await Promise.all([...this.prepared.values()].map((one) => this.requireOne(one)))
  }

  private async requireOne({ identity, began }: PreparedTransaction): Promise<void> {
    const { clock, store } = this
    const age = ageMs(clock, began)
    const health = transactionHealth(age, store.timeoutMs)
    if (health === 'alive') return
    if (health === 'in-doubt' && (await store.isOpen(identity))) return
    throw lost(identity, age, store.timeoutMs)
  }

  /** Until when the oldest of them can be committed; undefined when there is none. */
  get commitBy(): Deadline | undefined {
    const limitMs = this.store.timeoutMs * EXPIRED_PART
    const oldest = [...this.prepared.values()].reduce<Moment | undefined>(
      (first, { began }) =>
        first === undefined || began.monotonicMs < first.monotonicMs ? began : first,
      undefined,
    )
    return oldest === undefined ? undefined : { began: oldest, limitMs }
  }
}

function lost({ transactionalId }: ProducerIdentity, age: number, timeoutMs: number): WeirError {
  const seconds = (age / 1000).toFixed(1)
  const message = `the prepared transaction "${transactionalId}" has been open for ${seconds} s and was aborted, or is about to be, by its timeout of ${timeoutMs} ms: the checkpoint does not count, and the job writes the records again from the one before; make transactionTimeoutMs longer than the time between two checkpoints plus the longest outage`
  return new WeirError('TRANSACTION_ABORTED', message, { details: { transactionalId, timeoutMs } })
}
