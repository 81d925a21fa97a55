import { isWeirError, WeirError } from '../../core/errors.ts'
import type { OutageListener } from '../../core/lifetime/outage.ts'
import { checkOptions } from '../../core/options/shape.ts'
import type { Source } from '../../operators/port/source.ts'
import { KafkaCluster } from '../kafka/client/cluster.ts'
import { deleteKafkaRecords } from '../kafka/client/delete-records.ts'
import type { KafkaClientOptions } from '../kafka/client/options.ts'
import { topicBounds } from '../kafka/client/topic-bounds.ts'
import { createKafkaTopic, describeKafkaTopic, listKafkaTopics } from '../kafka/client/topics.ts'
import { KafkaSource } from '../kafka/source.ts'
import type { CleanupPolicy } from '../records/topic-options.ts'
import { KafkaTopicProducer } from './kafka-topic-producer.ts'
import {
  NEW_TOPIC,
  type NewTopic,
  type PartitionBounds,
  TOPIC_SOURCE,
  type TopicDescription,
  type TopicIdentity,
  type TopicProducer,
  type TopicSourceOptions,
  type TopicStore,
} from './store.ts'

/** Timeout of requests for which a person waits: a connection to a busy broker may take 5 s. Records are sent for longer. */
const REQUEST_TIMEOUT_MS = 15_000

/** The topics of a Kafka. */
export class KafkaTopics implements TopicStore {
  readonly place: string
  private readonly options: KafkaClientOptions
  private readonly requests: KafkaCluster
  private readonly clusters: KafkaCluster[]

  /** `onOutage` takes the notices that no broker answers. */
  constructor(options: KafkaClientOptions, onOutage?: OutageListener) {
    this.options = options
    this.place = `Kafka at ${options.brokers}`
    const deliveryTimeoutMs = options.deliveryTimeoutMs ?? REQUEST_TIMEOUT_MS
    this.requests = new KafkaCluster({ ...options, deliveryTimeoutMs }, { onOutage })
    this.clusters = [this.requests]
  }

  /** The cluster client, for requests that the port does not offer, such as transactions. */
  get cluster(): KafkaCluster {
    return this.requests
  }

  topics(): Promise<readonly string[]> {
    return this.advised(listKafkaTopics(this.requests))
  }

  async has(topic: string): Promise<boolean> {
    try {
      await this.requireTopic(topic)
      return true
    } catch (error) {
      if (isWeirError(error, 'UNKNOWN_TOPIC')) return false
      throw error
    }
  }

  async describe(topic: string): Promise<TopicDescription> {
    const identity = await this.identity(topic)
    const { requests } = this
    const found = await requests.retry(`metadata of "${topic}"`, () =>
      requests.metadata([{ name: topic }]),
    )
    const partitions = found.topics[0]!.partitions
    return {
      topic,
      ...identity,
      partitions: partitions.length,
      replicationFactor: Math.min(...partitions.map(({ replicaNodes }) => replicaNodes.length)),
      ...(await this.cleanupOf(topic)),
    }
  }

  /** Cleanup settings of a topic; empty when the user may not read them. */
  private async cleanupOf(topic: string): Promise<Partial<TopicDescription>> {
    try {
      const settings = await describeKafkaTopic(this.requests, topic)
      return {
        cleanupPolicy: cleanupPolicyOf(settings['cleanup.policy'] ?? ''),
        retentionMs: Number(settings['retention.ms'] ?? -1),
        retentionBytes: Number(settings['retention.bytes'] ?? -1),
      }
    } catch (error) {
      if (isWeirError(error, 'ACCESS_DENIED')) return {}
      throw error
    }
  }

  async bounds(topic: string): Promise<readonly PartitionBounds[]> {
    return await this.advised(topicBounds(this.requests, topic))
  }

  async identity(topic: string): Promise<TopicIdentity> {
    const { topicId: id, clusterId: cluster } = await this.requireTopic(topic)
    return { id, ...(cluster === undefined ? {} : { cluster }) }
  }

  /** The topic, without the wait for topics that were created a moment ago: `create` waits itself. */
  private requireTopic(topic: string): ReturnType<KafkaCluster['refreshTopic']> {
    const { requests } = this
    return this.advised(
      requests.retry(`metadata of "${topic}"`, () => requests.refreshTopic(topic)),
    )
  }

  /** Adds advice to the error of a request that got no answer. */
  private async advised<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer
    } catch (cause) {
      if (!isWeirError(cause, 'CONNECTOR_FAILED')) throw cause
      const message = `${cause.message}; check the brokers' addresses, that the brokers run, and the TLS and SASL settings`
      throw new WeirError(cause.code, message, { cause, details: cause.details })
    }
  }

  async create(topic: string, config: NewTopic): Promise<void> {
    checkOptions('topics.create', NEW_TOPIC, config)
    const { partitions, replicationFactor, cleanupPolicy, retentionMs, retentionBytes } = config
    const policies = { compact: 'compact', delete: 'delete', both: 'compact,delete' } as const
    try {
      await createKafkaTopic(this.requests, {
        name: topic,
        ...(partitions === undefined ? {} : { partitions }),
        ...(replicationFactor === undefined ? {} : { replicationFactor }),
        configs: {
          ...(cleanupPolicy === undefined ? {} : { 'cleanup.policy': policies[cleanupPolicy] }),
          ...(retentionMs === undefined ? {} : { 'retention.ms': String(retentionMs) }),
          ...(retentionBytes === undefined ? {} : { 'retention.bytes': String(retentionBytes) }),
        },
      })
    } catch (error) {
      throw this.creationError(topic, error)
    }
    // It exists: a busy broker may take seconds until it has its metadata.
    await this.requests.topic(topic, REQUEST_TIMEOUT_MS)
  }

  private creationError(topic: string, cause: unknown): unknown {
    const advice = isWeirError(cause, 'TOPIC_EXISTS')
      ? 'use it as it is ("weir topic list" shows it), or take another name'
      : isWeirError(cause, 'UNSUPPORTED')
        ? 'check its name, partitions and replication factor'
        : undefined
    if (advice === undefined || !isWeirError(cause)) return cause
    const message = `cannot create topic "${topic}" in ${this.place}: ${cause.message}; ${advice}`
    return new WeirError(cause.code, message, { cause, details: cause.details })
  }

  async deleteRecords(topic: string, before: readonly number[]): Promise<void> {
    // A broker refuses offsets below its start: they are deleted already.
    for (const { partition, start, end } of await this.bounds(topic)) {
      const offset = Math.min(before[partition] ?? 0, end)
      if (offset <= start) continue
      await deleteKafkaRecords(this.requests, { topic, partition, before: offset })
    }
  }

  async producer(topic: string, transactionalId?: string): Promise<TopicProducer> {
    await this.requireTopic(topic)
    const cluster = new KafkaCluster(this.options)
    this.clusters.push(cluster)
    return await KafkaTopicProducer.open(cluster, topic, transactionalId)
  }

  source<T>(options: TopicSourceOptions<T>): Source<T> {
    checkOptions('topics.source', TOPIC_SOURCE, options)
    const { discoveryIntervalMs = 0, ...rest } = options
    return new KafkaSource({ ...this.options, ...rest, discoveryIntervalMs })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.clusters.splice(0).map((cluster) => cluster.close()))
  }
}

function cleanupPolicyOf(setting: string): CleanupPolicy {
  if (!setting.includes('compact')) return 'delete'
  return setting.includes('delete') ? 'both' : 'compact'
}
