import { WeirError } from '../../../core/errors.ts'
import { clusterRight, requestOf, topicRight } from './access-rights.ts'
import type { KafkaCluster } from './cluster.ts'
import { KAFKA_ERRORS, throwKafkaError } from './errors.ts'
import { createTopicsV7, deleteTopicsV6, describeConfigsV4 } from './library.ts'

/** A topic to create. */
export interface NewKafkaTopic {
  readonly name: string
  /** Default: the broker's `num.partitions`. */
  readonly partitions?: number
  /** Default: the broker's `default.replication.factor`. */
  readonly replicationFactor?: number
  /** Keep only the last record of every key (`cleanup.policy=compact`); default false. */
  readonly compacted?: boolean
  /** Other topic settings under Kafka's names. */
  readonly configs?: Readonly<Record<string, string>>
}

const ADMIN_TIMEOUT_MS = 30_000
const BROKER_RESOURCE = 4
const TOPIC_RESOURCE = 2

/** Creates a topic, which a broker may list a moment later. Throws TOPIC_EXISTS when a topic of this name exists. */
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
  const doing = `creation of "${topic.name}"`
  let tried = false
  await cluster.retry(doing, async () => {
    const connection = await cluster.anyBroker()
    const answer = await connection.call(createTopicsV7.api, [request], ADMIN_TIMEOUT_MS, false)
    const { errorCode, errorMessage } = answer.topics[0]!
    // The first request may have succeeded although its answer was lost.
    if (errorCode === KAFKA_ERRORS.TOPIC_ALREADY_EXISTS && tried) return
    tried = true
    const right = topicRight('Create', topic.name)
    throwKafkaError(errorCode, requestOf(cluster, doing, right), errorMessage)
  })
}

/** Deletes a topic with all its records. */
export async function deleteKafkaTopic(cluster: KafkaCluster, name: string): Promise<void> {
  const request = requestOf(cluster, `deletion of "${name}"`, topicRight('Delete', name))
  await cluster.retry(request.doing, async () => {
    const connection = await cluster.anyBroker()
    const answer = await connection.call(deleteTopicsV6.api, [{ name }], ADMIN_TIMEOUT_MS)
    const { errorCode } = answer.responses[0]!
    throwKafkaError(errorCode, request)
  })
  cluster.forgetLeaders(name)
}

/** Names of the topics, sorted, without internal ones. */
export async function listKafkaTopics(cluster: KafkaCluster): Promise<string[]> {
  const { topics } = await cluster.retry('the list of topics', () => cluster.metadata(null))
  return topics
    .filter(({ isInternal, name }) => !isInternal && name !== null && name !== undefined)
    .map(({ name }) => name!)
    .sort()
}

/** The settings of a topic, including defaults. */
export async function describeKafkaTopic(
  cluster: KafkaCluster,
  name: string,
): Promise<Readonly<Record<string, string>>> {
  await cluster.topic(name)
  return await describeConfigs(cluster, { type: TOPIC_RESOURCE, name })
}

/** One setting of the brokers; undefined when they do not have it. */
export async function describeBrokerConfig(
  cluster: KafkaCluster,
  name: string,
): Promise<string | undefined> {
  const [node] = await cluster.liveNodes()
  if (node === undefined) throw new WeirError('CONNECTOR_FAILED', 'Kafka has no live node')
  const resource = { type: BROKER_RESOURCE, name: String(node), node } as const
  return (await describeConfigs(cluster, resource))[name]
}

/** A topic, or a broker with the node that answers for it. */
interface ConfigResource {
  readonly type: typeof TOPIC_RESOURCE | typeof BROKER_RESOURCE
  readonly name: string
  readonly node?: number
}

async function describeConfigs(
  cluster: KafkaCluster,
  { type, name, node }: ConfigResource,
): Promise<Record<string, string>> {
  const right =
    type === TOPIC_RESOURCE ? topicRight('DescribeConfigs', name) : clusterRight('DescribeConfigs')
  const request = requestOf(cluster, `settings of "${name}"`, right)
  return await cluster.retry(request.doing, async () => {
    const connection = node === undefined ? await cluster.anyBroker() : await cluster.node(node)
    const resource = { resourceType: type, resourceName: name, configurationKeys: null }
    const answer = await connection.call(describeConfigsV4.api, [resource], false, false)
    const { errorCode, errorMessage, configs } = answer.results[0]!
    throwKafkaError(errorCode, request, errorMessage)
    return Object.fromEntries(configs.map((config) => [config.name, config.value ?? '']))
  })
}
