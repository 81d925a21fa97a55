import type { RecordHeader } from '../../wire/batch/record-batch-format.ts'
import type { KafkaCluster } from '../kafka/client/cluster.ts'
import {
  endTransaction,
  type TransactionIdentity,
  transactionIdentity,
} from '../kafka/client/identity.ts'
import { DEFAULT_TRANSACTION_TIMEOUT_MS } from '../kafka/client/options.ts'
import { KafkaProducer } from '../kafka/producer.ts'
import { endTransactionVisibly } from '../kafka/transaction-end.ts'
import type { TopicProducer } from './store.ts'

/** Producer of one topic of Kafka that owns its cluster client; see `TopicStore.producer`. */
export class KafkaTopicProducer implements TopicProducer {
  private readonly cluster: KafkaCluster
  private readonly producer: KafkaProducer
  /** The open transaction. For the brokers it begins with its first record. */
  private transaction: TransactionIdentity | undefined
  private sent = 0

  private constructor(
    cluster: KafkaCluster,
    producer: KafkaProducer,
    transaction: TransactionIdentity | undefined,
  ) {
    this.cluster = cluster
    this.producer = producer
    this.transaction = transaction
  }

  /** Opens a producer; with a transactional id, its records are one transaction. */
  static async open(
    cluster: KafkaCluster,
    topic: string,
    transactionalId: string | undefined,
  ): Promise<KafkaTopicProducer> {
    const identity =
      transactionalId === undefined
        ? undefined
        : await transactionIdentity(cluster, transactionalId, DEFAULT_TRANSACTION_TIMEOUT_MS)
    const producer = await KafkaProducer.open(cluster, topic, { identity })
    return new KafkaTopicProducer(cluster, producer, identity)
  }

  sendRecord(
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    partition: number,
    headers: readonly RecordHeader[],
  ): void {
    this.producer.sendRecord(key, value, timestamp, partition, headers)
    this.sent += 1
  }

  positionOf(key: Uint8Array): { readonly partition: number; readonly offset: number } {
    return this.producer.positionOf(key)
  }

  ready(): boolean {
    return this.producer.ready()
  }

  whenReady(): Promise<void> {
    return this.producer.whenReady()
  }

  async sync(): Promise<void> {
    await this.producer.flush()
    const { transaction } = this
    this.transaction = undefined
    if (transaction === undefined || this.sent === 0) return
    await endTransactionVisibly(this.cluster, transaction, true)
  }

  async close(): Promise<void> {
    this.producer.close()
    if (this.transaction !== undefined && this.sent > 0) {
      await endTransaction(this.cluster, this.transaction, false).catch(() => undefined)
    }
    await this.cluster.close()
  }
}
