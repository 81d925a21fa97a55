import { type Clock, systemClock } from '../../../core/clock.ts'
import { isWeirError, WeirError } from '../../../core/errors.ts'
import type { OutageListener } from '../../../core/lifetime/outage.ts'
import { type Random, seededRandom } from '../../../core/random.ts'
import { type AccessRight, coordinatorRight, requestOf, topicRight } from './access-rights.ts'
import {
  BrokerConnections,
  type ConnectionPurpose,
  type OwnConnection,
} from './broker-connections.ts'
import {
  type ConnectKafka,
  type KafkaConnection,
  kafkaConnector,
  parseBrokers,
} from './connection.ts'
import { KAFKA_ERRORS, throwKafkaError } from './errors.ts'
import { findCoordinatorV4, metadataV12 } from './library.ts'
import {
  DEFAULT_DELIVERY_TIMEOUT_MS,
  DEFAULT_METADATA_MAX_AGE_MS,
  type KafkaClientOptions,
  principalOf,
} from './options.ts'
import { type RetryWorld, retrying } from './retry.ts'

/** A partition's leader in the last metadata. */
export interface PartitionLeader {
  /** Node id, -1 when the partition has no leader now. */
  readonly leader: number
  readonly leaderEpoch: number
}

/** A topic in the last metadata. */
export interface KafkaTopic {
  readonly name: string
  /** Id that differs when the topic was deleted and created again. */
  readonly topicId: string
  /** Id of the cluster; undefined when the brokers do not say it. */
  readonly clusterId: string | undefined
  readonly partitions: readonly PartitionLeader[]
}

/** Kind of a coordinator: of a consumer group or of a transactional id. */
export type CoordinatorKind = 'group' | 'transaction'

/** A request to a coordinator. */
export interface CoordinatorCall<Answer> {
  readonly kind: CoordinatorKind
  /** The group or the transactional id. */
  readonly key: string
  /** The operation in words, for messages. */
  readonly doing: string
  request(connection: KafkaConnection): Promise<Answer>
  /** The error number in an answer, 0 for none. */
  errorOf(answer: Answer): number
  /** Rights beside that to the group or the transactional id. @default none */
  readonly needs?: readonly AccessRight[]
  /** Default: the delivery timeout. */
  readonly timeoutMs?: number
  /** Connection for a request that waits. @default the one that all share */
  readonly on?: OwnConnection
}

/** Surroundings of a cluster, which tests replace. */
export interface KafkaClusterWorld {
  readonly clock?: Clock
  readonly random?: Random
  readonly connect?: ConnectKafka
  /** Called while no broker can be reached, with growing pauses, and when one can be reached again. */
  readonly onOutage?: OutageListener | undefined
}

/** A partition in an answer about topics. */
interface PartitionMetadata {
  readonly errorCode: number
  readonly partitionIndex: number
  readonly leaderId: number
  readonly leaderEpoch: number
  readonly replicaNodes: readonly number[]
}

/** The brokers of a cluster, and topics that were asked for. */
interface ClusterMetadata {
  readonly brokers: readonly {
    readonly nodeId: number
    readonly host: string
    readonly port: number
  }[]
  readonly clusterId?: string | null | undefined
  readonly topics: readonly {
    readonly errorCode: number
    readonly name?: string | null | undefined
    readonly topicId: string
    readonly isInternal: boolean
    readonly partitions: readonly PartitionMetadata[]
  }[]
}

/** How long a missing topic may be one that was created a moment ago, ms. */
const NEW_TOPIC_MS = 3_000

/**
 * One Kafka: leaders of partitions, coordinators by name, and retries after changes. It belongs to one
 * thread.
 */
export class KafkaCluster implements RetryWorld {
  readonly clock: Clock
  readonly random: Random
  readonly deliveryTimeoutMs: number
  readonly metadataMaxAgeMs: number
  /** Kafka's name of the user; undefined if a certificate has it. */
  readonly principal: string | undefined
  closed = false
  private readonly brokers: BrokerConnections
  private readonly topics = new Map<string, KafkaTopic>()
  private readonly refreshing = new Map<string, Promise<KafkaTopic>>()
  private readonly coordinators = new Map<string, number>()

  constructor(options: KafkaClientOptions, world: KafkaClusterWorld = {}) {
    this.clock = world.clock ?? systemClock
    this.random = world.random ?? seededRandom(this.clock.nowMs())
    this.brokers = new BrokerConnections(parseBrokers(options.brokers), {
      connect: world.connect ?? kafkaConnector(options),
      random: this.random,
      clock: this.clock,
      onOutage: world.onOutage,
    })
    this.principal = principalOf(options)
    this.deliveryTimeoutMs = options.deliveryTimeoutMs ?? DEFAULT_DELIVERY_TIMEOUT_MS
    this.metadataMaxAgeMs = options.metadataMaxAgeMs ?? DEFAULT_METADATA_MAX_AGE_MS
  }

  /** How long no broker has been reached, ms; 0 while one is. */
  get outageMs(): number {
    return this.brokers.outage.lastsMs
  }

  /** Repeats an attempt while its errors are retryable, by default until the delivery timeout. */
  retry<T>(
    doing: string,
    attempt: () => Promise<T>,
    timeoutMs = this.deliveryTimeoutMs,
  ): Promise<T> {
    return retrying(this, { doing, timeoutMs, attempt })
  }

  /**
   * The topic in the last metadata, or in new metadata if there is none. A missing one may be one that was created a moment
   * ago: it is looked for during `newForMs`. Throws UNKNOWN_TOPIC.
   */
  async topic(name: string, newForMs = NEW_TOPIC_MS): Promise<KafkaTopic> {
    const known = this.topics.get(name)
    if (known !== undefined) return known
    const newUntil = this.clock.monotonicMs() + newForMs
    return await this.retry(`metadata of "${name}"`, async () => {
      try {
        return await this.refreshTopic(name)
      } catch (error) {
        const isNew = isWeirError(error, 'UNKNOWN_TOPIC') && this.clock.monotonicMs() < newUntil
        if (!isNew) throw error
        throw new WeirError('CONNECTOR_FAILED', error.message, { cause: error })
      }
    })
  }

  /** The topic in new metadata. Calls at the same time share one request. Throws UNKNOWN_TOPIC. */
  refreshTopic(name: string): Promise<KafkaTopic> {
    const running = this.refreshing.get(name)
    if (running !== undefined) return running
    const refresh = this.fetchTopic(name).finally(() => this.refreshing.delete(name))
    this.refreshing.set(name, refresh)
    return refresh
  }

  /**
   * The leaders of a topic as a node other than `leader` sees them; undefined when no other node is known
   * or answers. A broker that was frozen does not know at first that another one has taken over.
   */
  async leadersSeenBeside(
    leader: number,
    name: string,
  ): Promise<readonly PartitionLeader[] | undefined> {
    const others = this.brokers.ids().filter((id) => id !== leader)
    const start = others.length === 0 ? 0 : this.random.below(others.length)
    for (const id of [...others.slice(start), ...others.slice(0, start)]) {
      try {
        const connection = await this.node(id)
        const answer = await connection.call(metadataV12.api, [{ name }], false, false)
        const found = answer.topics.find((topic) => topic.name === name)
        if (found?.errorCode === KAFKA_ERRORS.NONE) return leadersOf(found.partitions)
      } catch (error) {
        if (!isWeirError(error) || !error.retryable) throw error
      }
    }
    return undefined
  }

  private async fetchTopic(name: string): Promise<KafkaTopic> {
    const answer = await this.metadata([{ name }])
    const found = answer.topics.find((topic) => topic.name === name)
    if (found === undefined || found.errorCode === KAFKA_ERRORS.UNKNOWN_TOPIC_OR_PARTITION) {
      this.topics.delete(name)
      const message = `topic "${name}" does not exist; create it with weir topic create`
      throw new WeirError('UNKNOWN_TOPIC', message, { details: { topic: name } })
    }
    const request = requestOf(this, `metadata of "${name}"`, topicRight('Describe', name))
    throwKafkaError(found.errorCode, request)
    const topic = {
      name,
      topicId: found.topicId,
      clusterId: answer.clusterId ?? undefined,
      partitions: leadersOf(found.partitions),
    }
    this.topics.set(name, topic)
    return topic
  }

  /** Requests metadata from any broker, null for all topics, and stores the addresses of the nodes. */
  async metadata(topics: { name: string }[] | null): Promise<ClusterMetadata> {
    const connection = await this.anyBroker()
    const answer = await connection.call(metadataV12.api, topics, false, false)
    for (const { nodeId, host, port } of answer.brokers) this.brokers.add(nodeId, { host, port })
    return answer
  }

  /** Ids of the live nodes, as each broker reports them. */
  async liveNodes(): Promise<number[]> {
    const { brokers } = await this.metadata([])
    return brokers.map(({ nodeId }) => nodeId)
  }

  /** The leader of a partition in the last metadata. Throws CONNECTOR_FAILED when it has none. */
  async leaderOf(topic: string, partition: number): Promise<number> {
    return (await this.leadershipOf(topic, partition)).leader
  }

  /** The leader of a partition and its epoch, as `leaderOf`. */
  async leadershipOf(topic: string, partition: number): Promise<PartitionLeader> {
    const known = await this.topic(topic)
    const found = known.partitions[partition]
    if (found !== undefined && found.leader >= 0) return found
    this.forgetLeaders(topic)
    throw new WeirError('CONNECTOR_FAILED', `${topic}/${partition} has no leader now`)
  }

  /** Drops the topic's leaders: the next use requests them again. */
  forgetLeaders(topic: string): void {
    this.topics.delete(topic)
  }

  /** A connection to a node. Requests that wait, such as fetches, use a separate connection. */
  async node(nodeId: number, purpose: ConnectionPurpose = 'main'): Promise<KafkaConnection> {
    if (!this.brokers.has(nodeId)) await this.metadata([])
    return await this.brokers.node(nodeId, purpose)
  }

  /** A connection to the first broker that answers. */
  anyBroker(): Promise<KafkaConnection> {
    return this.brokers.any()
  }

  /** A name for the connections of one owner, for `callCoordinator`; `closeOwn` closes them. */
  own(answerTimeoutMs: number): OwnConnection {
    return this.brokers.own(answerTimeoutMs)
  }

  /** Closes the connections of one owner. Requests without an answer fail. */
  async closeOwn(own: OwnConnection): Promise<void> {
    await this.brokers.closeOwn(own)
  }

  /** A connection to the coordinator of a group or transactional id. */
  async coordinator(
    kind: CoordinatorKind,
    key: string,
    purpose: ConnectionPurpose = 'main',
  ): Promise<KafkaConnection> {
    const name = `${kind}/${key}`
    let nodeId = this.coordinators.get(name)
    if (nodeId === undefined) {
      const connection = await this.anyBroker()
      const answer = await connection.call(findCoordinatorV4.api, kind === 'group' ? 0 : 1, [key])
      const found = answer.coordinators[0]!
      const doing = `coordinator of ${kind} "${key}"`
      const request = requestOf(this, doing, coordinatorRight(kind, key))
      throwKafkaError(found.errorCode, request, found.errorMessage)
      nodeId = found.nodeId
      this.brokers.add(nodeId, { host: found.host, port: found.port })
      this.coordinators.set(name, nodeId)
    }
    try {
      return await this.node(nodeId, purpose)
    } catch (error) {
      this.coordinators.delete(name)
      throw error
    }
  }

  /** Drops the address of a coordinator: the next use requests it again. */
  forgetCoordinator(kind: CoordinatorKind, key: string): void {
    this.coordinators.delete(`${kind}/${key}`)
  }

  /** Sends a request to a coordinator, and repeats it while the coordinator moves or restarts. */
  async callCoordinator<Answer>(call: CoordinatorCall<Answer>): Promise<Answer> {
    const { kind, key, doing, timeoutMs, on, needs = [] } = call
    const request = requestOf(this, doing, coordinatorRight(kind, key), ...needs)
    const attempt = async (): Promise<Answer> => {
      try {
        const answer = await call.request(await this.coordinator(kind, key, on))
        throwKafkaError(call.errorOf(answer), request)
        return answer
      } catch (error) {
        if (!isConcurrent(error)) this.forgetCoordinator(kind, key)
        throw error
      }
    }
    return await this.retry(doing, attempt, timeoutMs)
  }

  /** Closes every connection, also those that are being opened. Requests without an answer fail. */
  async close(): Promise<void> {
    this.closed = true
    await this.brokers.close()
  }
}

function isConcurrent(error: unknown): boolean {
  return isWeirError(error) && error.details['kafkaError'] === KAFKA_ERRORS.CONCURRENT_TRANSACTIONS
}

/** The leaders by partition. */
function leadersOf(found: readonly PartitionMetadata[]): readonly PartitionLeader[] {
  const partitions: PartitionLeader[] = []
  for (const { partitionIndex, leaderId, leaderEpoch } of found) {
    partitions[partitionIndex] = { leader: leaderId, leaderEpoch }
  }
  return partitions
}
