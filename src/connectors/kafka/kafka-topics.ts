import { WeirError } from '../../core/errors.ts'
import type { KafkaCluster } from './kafka-cluster.ts'
import { KAFKA_ERRORS, throwKafkaError } from './kafka-errors.ts'
import { createTopicsV7, deleteTopicsV6, describeConfigsV4 } from './kafka-library.ts'

/** A topic to create. */
export interface NewKafkaTopic {
  readonly name: string
  /** Default: the broker's `num.partitions`. */
  readonly partitions?: number
  /** Default: the broker's `default.replication.factor`. */
  readonly replicationFactor?: number
  /** Keep the last record of every key alone (`cleanup.policy=compact`); default false. */
  readonly compacted?: boolean
  /** More topic settings under Kafka's names. */
  readonly configs?: Readonly<Record<string, string>>
}

const ADMIN_TIMEOUT_MS = 30_000
const BROKER_RESOURCE = 4
const TOPIC_RESOURCE = 2

/** Creates a topic. Throws TOPIC_EXISTS when there is one of this name. */
export async function createKafkaTopic(cluster: KafkaCluster, topic: NewKafkaTopic): Promise<void> {
  const configs = {
    ...(topic.compacted === true ? { 'cleanup.policy': 'compact' } : {}),
    ...topic.configs,
  }
  const request = {
    name: topic.name,
    numPartitions: topic.partitions ?? -1,
    replicationFactor: topic.replicationFactor ?? -1,
    assignments: [],
    configs: Object.entries(configs).map(([name, value]) => ({ name, value })),
  }
  let tried = false
  await cluster.retry(`creation of "${topic.name}"`, async () => {
    const connection = await cluster.anyBroker()
    const answer = await connection.call(createTopicsV7.api, [request], ADMIN_TIMEOUT_MS, false)
    const { errorCode, errorMessage } = answer.topics[0]!
    // Our own first request may have come through although its answer did not.
    if (errorCode === KAFKA_ERRORS.TOPIC_ALREADY_EXISTS && tried) return
    tried = true
    throwKafkaError(errorCode, `creation of "${topic.name}"`, errorMessage)
  })
}

/** Deletes a topic with all its records. */
export async function deleteKafkaTopic(cluster: KafkaCluster, name: string): Promise<void> {
  await cluster.retry(`deletion of "${name}"`, async () => {
    const connection = await cluster.anyBroker()
    const answer = await connection.call(deleteTopicsV6.api, [{ name }], ADMIN_TIMEOUT_MS)
    const { errorCode } = answer.responses[0]!
    throwKafkaError(errorCode, `deletion of "${name}"`)
  })
  cluster.forgetLeaders(name)
}

/** Names of the topics, internal ones left out, sorted. */
export async function listKafkaTopics(cluster: KafkaCluster): Promise<string[]> {
  const { topics } = await cluster.retry('the list of topics', () => cluster.metadata(null))
  return topics
    .filter(({ isInternal, name }) => !isInternal && name !== null && name !== undefined)
    .map(({ name }) => name!)
    .sort()
}

/** The settings of a topic, defaults included. */
export async function describeKafkaTopic(
  cluster: KafkaCluster,
  name: string,
): Promise<Readonly<Record<string, string>>> {
  await cluster.topic(name)
  return await describeConfigs(cluster, TOPIC_RESOURCE, name)
}

/** One setting of the brokers; undefined when they do not know it. */
export async function describeBrokerConfig(
  cluster: KafkaCluster,
  name: string,
): Promise<string | undefined> {
  const [node] = await cluster.liveNodes()
  if (node === undefined) throw new WeirError('CONNECTOR_FAILED', 'Kafka has no live node')
  return (await describeConfigs(cluster, BROKER_RESOURCE, String(node), node))[name]
}

async function describeConfigs(
  cluster: KafkaCluster,
  resourceType: 2 | 4,
  resourceName: string,
  node?: number,
): Promise<Record<string, string>> {
  const doing = `settings of "${resourceName}"`
  return await cluster.retry(doing, async () => {
    const connection = node === undefined ? await cluster.anyBroker() : await cluster.node(node)
    const resource = { resourceType, resourceName, configurationKeys: null }
    const answer = await connection.call(describeConfigsV4.api, [resource], false, false)
    const { errorCode, errorMessage, configs } = answer.results[0]!
    throwKafkaError(errorCode, doing, errorMessage)
    return Object.fromEntries(configs.map(({ name, value }) => [name, value ?? '']))
  })
}
