import { isWeirError, WeirError } from '../../core/errors.ts'
import type { Source } from '../../operators/source.ts'
import { KafkaCluster } from '../kafka/kafka-cluster.ts'
import { findOffset } from '../kafka/kafka-offsets.ts'
import type { KafkaClientOptions } from '../kafka/kafka-options.ts'
import { KafkaSource } from '../kafka/kafka-source.ts'
import { createKafkaTopic, describeKafkaTopic, listKafkaTopics } from '../kafka/kafka-topics.ts'
import type { CleanupPolicy } from '../log/topic-config.ts'
import { openKafkaTopicProducer } from './kafka-topic-producer.ts'
import type {
  NewTopic,
  PartitionBounds,
  TopicDescription,
  TopicProducer,
  TopicSourceOptions,
  TopicStore,
} from './topic-store.ts'

/** Questions are answered at once or not at all: a person waits. Records are sent for longer. */
const ASKING_TIMEOUT_MS = 5_000

/** The topics of a Kafka. */
export class KafkaTopics implements TopicStore {
  readonly place: string
  private readonly options: KafkaClientOptions
  private readonly asking: KafkaCluster
  private readonly clusters: KafkaCluster[]

  constructor(options: KafkaClientOptions) {
    this.options = options
    this.place = `Kafka at ${options.brokers}`
    const deliveryTimeoutMs = options.deliveryTimeoutMs ?? ASKING_TIMEOUT_MS
    this.asking = new KafkaCluster({ ...options, deliveryTimeoutMs })
    this.clusters = [this.asking]
  }

  /** For what the port does not offer, such as transactions. */
  get cluster(): KafkaCluster {
    return this.asking
  }

  topics(): Promise<readonly string[]> {
    return this.asked(listKafkaTopics(this.asking))
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
    await this.requireTopic(topic)
    const { asking } = this
    const found = await asking.retry(`metadata of "${topic}"`, () =>
      asking.metadata([{ name: topic }]),
    )
    const partitions = found.topics[0]!.partitions
    return {
      topic,
      partitions: partitions.length,
      replicationFactor: Math.min(...partitions.map(({ replicaNodes }) => replicaNodes.length)),
      ...(await this.keptOf(topic)),
    }
  }

  /** How a topic is kept, as far as the user may see it: few may read settings. */
  private async keptOf(topic: string): Promise<Partial<TopicDescription>> {
    try {
      const settings = await describeKafkaTopic(this.asking, topic)
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
    const { partitions } = await this.requireTopic(topic)
    const { asking } = this
    return await Promise.all(
      partitions.map(async (_, partition) => {
        const [start, end] = await Promise.all([
          findOffset(asking, topic, partition, 'earliest', 'read_uncommitted'),
          findOffset(asking, topic, partition, 'latest', 'read_uncommitted'),
        ])
        return { partition, start, end }
      }),
    )
  }

  async identity(topic: string): Promise<string> {
    return (await this.requireTopic(topic)).topicId
  }

  /** Without the wait for topics that were created a moment ago: here that is `create`'s. */
  private requireTopic(topic: string): ReturnType<KafkaCluster['refreshTopic']> {
    const { asking } = this
    return this.asked(asking.retry(`metadata of "${topic}"`, () => asking.refreshTopic(topic)))
  }

  /** A first question's answer; when there is none it is said what to look at. */
  private async asked<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer
    } catch (cause) {
      if (!isWeirError(cause, 'CONNECTOR_FAILED')) throw cause
      const message = `${cause.message}; check the brokers' addresses, whether they run, and TLS and SASL settings`
      throw new WeirError(cause.code, message, { cause, details: cause.details })
    }
  }

  async create(topic: string, config: NewTopic): Promise<void> {
    const { partitions, replicationFactor, cleanupPolicy, retentionMs, retentionBytes } = config
    const policies = { compact: 'compact', delete: 'delete', both: 'compact,delete' } as const
    try {
      await createKafkaTopic(this.asking, {
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
    // Waits until the brokers know it.
    await this.asking.topic(topic)
  }

  private creationError(topic: string, cause: unknown): unknown {
    const advice = isWeirError(cause, 'TOPIC_EXISTS')
      ? 'use it as it is ("weir topic list" shows it), or take another name'
      : isWeirError(cause, 'ACCESS_DENIED')
        ? 'the user needs CREATE on the topic; ask an administrator, or have one create it'
        : isWeirError(cause, 'UNSUPPORTED')
          ? 'check its name, partitions and replication factor'
          : undefined
    if (advice === undefined || !isWeirError(cause)) return cause
    const message = `cannot create topic "${topic}" in ${this.place}: ${cause.message}; ${advice}`
    return new WeirError(cause.code, message, { cause, details: cause.details })
  }

  async producer(topic: string, transactionalId?: string): Promise<TopicProducer> {
    await this.requireTopic(topic)
    const cluster = new KafkaCluster(this.options)
    this.clusters.push(cluster)
    return await openKafkaTopicProducer(cluster, topic, transactionalId)
  }

  source<T>(options: TopicSourceOptions<T>): Source<T> {
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
