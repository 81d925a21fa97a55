import type { KafkaCluster } from '../kafka/kafka-cluster.ts'
import {
  endTransaction,
  type TransactionIdentity,
  transactionIdentity,
} from '../kafka/kafka-identity.ts'
import { KafkaProducer } from '../kafka/kafka-producer.ts'
import type { TopicProducer } from './topic-store.ts'
import { endTransactionVisibly } from './transaction-end.ts'

/** What a broker allows unless told otherwise. */
const TRANSACTION_TIMEOUT_MS = 900_000

/** A producer that owns its cluster client; see `TopicStore.producer`. */
export async function openKafkaTopicProducer(
  cluster: KafkaCluster,
  topic: string,
  transactionalId: string | undefined,
): Promise<TopicProducer> {
  let open: TransactionIdentity | undefined
  if (transactionalId !== undefined) {
    open = await transactionIdentity(cluster, transactionalId, TRANSACTION_TIMEOUT_MS)
  }
  const producer = await KafkaProducer.open(cluster, topic, {}, open)
  let sent = 0
  return {
    sendRecord(...record) {
      producer.sendRecord(...record)
      sent += 1
    },
    ready: () => producer.ready(),
    whenReady: () => producer.whenReady(),
    async sync() {
      await producer.flush()
      const ended = open
      open = undefined
      // The brokers know of a transaction from its first record on.
      if (ended === undefined || sent === 0) return
      await endTransactionVisibly(cluster, ended, true)
    },
    async close() {
      producer.close()
      if (open !== undefined && sent > 0) {
        await endTransaction(cluster, open, false).catch(() => undefined)
      }
      await cluster.close()
    },
  }
}
