import type { SinkWriterContext } from '../../operators/sink.ts'
import type { TransactionStore } from '../transactions/transaction-pool.ts'
import {
  type TransactionalTopic,
  TwoPhaseSinkWriter,
} from '../transactions/two-phase-sink-writer.ts'
import { KafkaCluster } from './kafka-cluster.ts'
import { commitPrepared } from './kafka-commit.ts'
import { transactionIdentity } from './kafka-identity.ts'
import { KafkaProducer } from './kafka-producer.ts'
import type { KafkaSinkOptions } from './kafka-sink.ts'
import { listKafkaTransactions } from './kafka-transactions.ts'

const DEFAULT_PREFIX = 'weir'
const DEFAULT_TRANSACTION_TIMEOUT_MS = 900_000

/** Writes the results of one subtask; see `KafkaSink`. */
export class KafkaSinkWriter<T> extends TwoPhaseSinkWriter<T> {
  constructor(options: KafkaSinkOptions<T>) {
    super(options, async (context) => kafkaTopic(options, context))
  }
}

function kafkaTopic<T>(
  options: KafkaSinkOptions<T>,
  { clock }: SinkWriterContext,
): TransactionalTopic {
  const cluster = new KafkaCluster(options, { clock })
  const idempotent = options.guarantee !== 'none'
  let producer: KafkaProducer | undefined
  return {
    transactions: transactionsOf(cluster, options),
    async openProducer(identity) {
      const { topic } = options
      producer = await KafkaProducer.open(cluster, topic, { ...options, idempotent }, identity)
      return producer
    },
    async close() {
      producer?.close()
      await cluster.close()
    },
  }
}

function transactionsOf<T>(cluster: KafkaCluster, options: KafkaSinkOptions<T>): TransactionStore {
  const {
    transactionalIdPrefix = DEFAULT_PREFIX,
    transactionTimeoutMs = DEFAULT_TRANSACTION_TIMEOUT_MS,
  } = options
  return {
    prefix: `${transactionalIdPrefix}/`,
    async list(prefix) {
      const found = await listKafkaTransactions(cluster, prefix)
      return found.map(({ transactionalId, state }) => ({
        transactionalId,
        isOpen: state === 'Ongoing',
      }))
    },
    takeOver: (transactionalId) =>
      transactionIdentity(cluster, transactionalId, transactionTimeoutMs),
    commit: (committable, mayBeDone) => commitPrepared(cluster, committable, mayBeDone),
  }
}
