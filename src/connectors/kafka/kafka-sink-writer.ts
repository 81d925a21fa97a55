import type { SinkWriter, SinkWriterContext } from '../../operators/sink.ts'
import { RecordSender } from '../log/outgoing-record.ts'
import { KafkaCluster } from './kafka-cluster.ts'
import { decodeKafkaCommittable, encodeKafkaCommittable } from './kafka-committable.ts'
import type { TransactionIdentity } from './kafka-identity.ts'
import { KafkaProducer } from './kafka-producer.ts'
import type { KafkaSinkOptions } from './kafka-sink.ts'
import { commitPrepared, KafkaTransactionPool } from './kafka-transaction-pool.ts'

const DEFAULT_PREFIX = 'weir'
const DEFAULT_TRANSACTION_TIMEOUT_MS = 900_000

/** Writes the results of one subtask; see `KafkaSink`. */
export class KafkaSinkWriter<T> implements SinkWriter<T> {
  private readonly options: KafkaSinkOptions<T>
  private readonly exactlyOnce: boolean
  private readonly sender: RecordSender<T>
  private cluster: KafkaCluster | undefined
  private pool: KafkaTransactionPool | undefined
  private producer: KafkaProducer | undefined
  private transaction: TransactionIdentity | undefined
  /** Records written since the transaction began. */
  private written = 0
  private leftoversPending = false

  constructor(options: KafkaSinkOptions<T>) {
    this.options = options
    this.sender = new RecordSender(options.serialize)
    this.exactlyOnce = options.guarantee === 'exactly-once'
  }

  async open(context: SinkWriterContext, restored: readonly Uint8Array[]): Promise<void> {
    const { topic, guarantee } = this.options
    this.cluster = new KafkaCluster(this.options, { clock: context.clock })
    if (!this.exactlyOnce) {
      const options = { ...this.options, idempotent: guarantee !== 'none' }
      this.producer = await KafkaProducer.open(this.cluster, topic, options)
      return
    }
    await this.commit(restored)
    const {
      transactionalIdPrefix = DEFAULT_PREFIX,
      transactionTimeoutMs = DEFAULT_TRANSACTION_TIMEOUT_MS,
    } = this.options
    this.pool = await KafkaTransactionPool.open(
      this.cluster,
      transactionTimeoutMs,
      transactionalIdPrefix,
      context,
    )
    // Subtasks beside this one may not have committed yet what was restored to them. At the first
    // barrier all of them have opened.
    if (context.parallelism === 1) await this.pool.abortLeftovers()
    else this.leftoversPending = true
    this.transaction = await this.pool.next()
    this.producer = await KafkaProducer.open(this.cluster, topic, this.options, this.transaction)
    await this.pool.prepareSpare()
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
    if (!this.exactlyOnce) {
      if (this.options.guarantee === 'none') producer.dispatch()
      else await producer.flush()
      return []
    }
    const pool = this.pool!
    const committables: Uint8Array[] = []
    // What follows is synchronous: records written while the old transaction is on its way to the
    // broker belong to the next one.
    if (this.written > 0) {
      this.written = 0
      const identity = this.transaction!
      producer.dispatch()
      this.transaction = pool.takeSpare()
      const sent = producer.continueWith(this.transaction)
      await producer.settled()
      const { topic } = this.options
      const witness = sent.first === undefined ? undefined : { topic, ...sent.first }
      committables.push(encodeKafkaCommittable({ identity, witness }))
    }
    if (this.leftoversPending) {
      this.leftoversPending = false
      await pool.abortLeftovers()
    }
    await pool.prepareSpare()
    return committables
  }

  async commit(committables: readonly Uint8Array[]): Promise<void> {
    await Promise.all(
      committables.map(async (committable) => {
        const handle = decodeKafkaCommittable(committable)
        const mayBeDone = this.pool?.isOpen(handle.identity) !== true
        await commitPrepared(this.cluster!, handle, mayBeDone)
        this.pool?.release(handle.identity)
      }),
    )
  }

  async close(): Promise<void> {
    try {
      if (!this.exactlyOnce) await this.producer?.flush()
    } finally {
      this.producer?.close()
      await this.cluster?.close()
    }
  }
}
