import type { KafkaCluster } from '../../connectors/kafka/client/cluster.ts'
import { createKafkaTopic } from '../../connectors/kafka/client/topics.ts'
import { isWeirError, WeirError } from '../../core/errors.ts'
import { exchangeTopic } from './graph/kafka-exchange.ts'
import type { Exchange } from './graph/partition-graph.ts'

/** What is created where a topic is missing. */
export interface ExchangeTopicsOptions {
  readonly applicationId: string
  readonly partitions: number
  /** @default that of the brokers */
  readonly replicationFactor?: number | undefined
}

/**
 * Creates the exchange topics that are missing, in any process, and checks the others: they keep all records
 * until the job deletes them. Throws INVALID_ARGUMENT where one has other partitions.
 */
export async function ensureExchangeTopics(
  cluster: KafkaCluster,
  exchanges: readonly Exchange[],
  { applicationId, partitions, replicationFactor }: ExchangeTopicsOptions,
): Promise<void> {
  for (const exchange of exchanges) {
    const name = exchangeTopic(applicationId, exchange)
    const configs = { 'retention.ms': '-1', 'retention.bytes': '-1' }
    const copies = replicationFactor === undefined ? {} : { replicationFactor }
    await createKafkaTopic(cluster, { name, partitions, configs, ...copies }).catch((error) => {
      if (!isWeirError(error, 'TOPIC_EXISTS')) throw error
    })
    const found = (await cluster.topic(name)).partitions.length
    if (found !== partitions) throw otherPartitions(name, found, partitions)
  }
}

function otherPartitions(topic: string, found: number, partitions: number): WeirError {
  const message = `exchange topic "${topic}" has ${found} partitions and scale-out.partitions is ${partitions}: start with -D scale-out.partitions=${found}, or use another application.id`
  return new WeirError('INVALID_ARGUMENT', message, { details: { topic, found, partitions } })
}
