import { type Clock, systemClock } from '../../core/clock.ts'
import { isWeirError, WeirError } from '../../core/errors.ts'
import { type Random, seededRandom } from '../../core/random.ts'
import {
  type BrokerAddress,
  type ConnectKafka,
  type KafkaConnection,
  kafkaConnector,
  parseBrokers,
} from './kafka-connection.ts'
import { KAFKA_ERRORS, throwKafkaError } from './kafka-errors.ts'
import { findCoordinatorV4, metadataV12 } from './kafka-library.ts'
import { DEFAULT_DELIVERY_TIMEOUT_MS, type KafkaClientOptions } from './kafka-options.ts'
import { type RetryWorld, retrying } from './kafka-retry.ts'

/** A partition's leader as the metadata knew it. */
export interface PartitionLeader {
  /** Node id, -1 when there is none now. */
  readonly leader: number
  readonly leaderEpoch: number
}

/** A topic as the metadata knew it. */
export interface KafkaTopic {
  readonly name: string
  /** Differs when the topic was deleted and created anew. */
  readonly topicId: string
  readonly partitions: readonly PartitionLeader[]
}

/** What a coordinator coordinates. */
export type CoordinatorKind = 'group' | 'transaction'

/** What a cluster needs of its surroundings; tests give their own. */
export interface KafkaClusterWorld {
  readonly clock?: Clock
  readonly random?: Random
  readonly connect?: ConnectKafka
}

type ClusterMetadata = Awaited<ReturnType<typeof metadataV12.api.async>>

/** How long a topic is believed not to exist yet, because it was created a moment ago, in ms. */
const NEW_TOPIC_MS = 3_000

/**
 * The brokers of one Kafka: connections by node and lane, leaders and coordinators by name, retries
 * after changes. It belongs to one thread.
 */
export class KafkaCluster implements RetryWorld {
  readonly clock: Clock
  readonly random: Random
  readonly deliveryTimeoutMs: number
  closed = false
  private readonly connect: ConnectKafka
  private readonly bootstrap: readonly BrokerAddress[]
  private readonly nodes = new Map<number, BrokerAddress>()
  private readonly topics = new Map<string, KafkaTopic>()
  private readonly refreshing = new Map<string, Promise<KafkaTopic>>()
  private readonly coordinators = new Map<string, number>()
  private readonly connections = new Map<string, Promise<KafkaConnection>>()

  constructor(options: KafkaClientOptions, world: KafkaClusterWorld = {}) {
    this.bootstrap = parseBrokers(options.brokers)
    this.clock = world.clock ?? systemClock
    this.random = world.random ?? seededRandom(this.clock.nowMs())
    this.connect = world.connect ?? kafkaConnector(options)
    this.deliveryTimeoutMs = options.deliveryTimeoutMs ?? DEFAULT_DELIVERY_TIMEOUT_MS
  }

  /** Tries again and again while errors are retryable; default for the delivery timeout. */
  retry<T>(
    doing: string,
    attempt: () => Promise<T>,
    timeoutMs = this.deliveryTimeoutMs,
  ): Promise<T> {
    return retrying(this, doing, timeoutMs, attempt)
  }

  /** The topic as last seen, or as the brokers see it now. Throws UNKNOWN_TOPIC. */
  async topic(name: string): Promise<KafkaTopic> {
    const known = this.topics.get(name)
    if (known !== undefined) return known
    const newUntil = this.clock.monotonicMs() + NEW_TOPIC_MS
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

  /** The topic as the brokers see it now; calls at the same time share one request. */
  refreshTopic(name: string): Promise<KafkaTopic> {
    const running = this.refreshing.get(name)
    if (running !== undefined) return running
    const refresh = this.fetchTopic(name).finally(() => this.refreshing.delete(name))
    this.refreshing.set(name, refresh)
    return refresh
  }

  private async fetchTopic(name: string): Promise<KafkaTopic> {
    const answer = await this.metadata([{ name }])
    const found = answer.topics.find((topic) => topic.name === name)
    if (found === undefined || found.errorCode === KAFKA_ERRORS.UNKNOWN_TOPIC_OR_PARTITION) {
      this.topics.delete(name)
      const message = `topic "${name}" does not exist; weir topic create makes it`
      throw new WeirError('UNKNOWN_TOPIC', message, { details: { topic: name } })
    }
    throwKafkaError(found.errorCode, `metadata of "${name}"`)
    const partitions: PartitionLeader[] = []
    for (const { partitionIndex, leaderId, leaderEpoch } of found.partitions) {
      partitions[partitionIndex] = { leader: leaderId, leaderEpoch }
    }
    const topic = { name, topicId: found.topicId, partitions }
    this.topics.set(name, topic)
    return topic
  }

  /** Asks any broker for metadata, null for all topics, and learns the addresses of the nodes. */
  async metadata(topics: { name: string }[] | null): Promise<ClusterMetadata> {
    const connection = await this.anyBroker()
    const answer = await connection.call(metadataV12.api, topics, false, false)
    for (const { nodeId, host, port } of answer.brokers) this.nodes.set(nodeId, { host, port })
    return answer
  }

  /** Ids of the nodes that are alive in the eyes of any broker. */
  async liveNodes(): Promise<number[]> {
    const { brokers } = await this.metadata([])
    return brokers.map(({ nodeId }) => nodeId)
  }

  /** The leader of a partition by the last metadata. Throws CONNECTOR_FAILED when it has none. */
  async leaderOf(topic: string, partition: number): Promise<number> {
    const known = await this.topic(topic)
    const leader = known.partitions[partition]?.leader ?? -1
    if (leader >= 0) return leader
    this.forgetLeaders(topic)
    throw new WeirError('CONNECTOR_FAILED', `${topic}/${partition} has no leader now`)
  }

  /** The topic's leaders are asked for anew before the next use. */
  forgetLeaders(topic: string): void {
    this.topics.delete(topic)
  }

  /** A connection to a node. Requests that wait, such as fetches, have lanes of their own. */
  async node(nodeId: number, lane = 'main'): Promise<KafkaConnection> {
    let address = this.nodes.get(nodeId)
    if (address === undefined) {
      await this.metadata([])
      address = this.nodes.get(nodeId)
    }
    if (address === undefined) {
      throw new WeirError('CONNECTOR_FAILED', `Kafka node ${nodeId} is not there now`)
    }
    return await this.connection(`${nodeId}/${lane}`, address)
  }

  /** A connection to whichever broker answers first, known nodes in random order, then bootstrap. */
  async anyBroker(): Promise<KafkaConnection> {
    const known = [...this.nodes.keys()].map((id) => ({ id, order: this.random.next() }))
    known.sort((a, b) => a.order - b.order)
    let failure: unknown
    const candidates: [string, BrokerAddress][] = [
      ...known.map(({ id }): [string, BrokerAddress] => [`${id}/main`, this.nodes.get(id)!]),
      ...this.bootstrap.map((address): [string, BrokerAddress] => [
        `${address.host}:${address.port}`,
        address,
      ]),
    ]
    for (const [name, address] of candidates) {
      try {
        return await this.connection(name, address)
      } catch (error) {
        if (!isWeirError(error) || !error.retryable) throw error
        failure = error
      }
    }
    throw failure
  }

  private async connection(name: string, address: BrokerAddress): Promise<KafkaConnection> {
    if (this.closed) throw new WeirError('ILLEGAL_STATE', 'the Kafka client was closed')
    const existing = this.connections.get(name)
    if (existing !== undefined) {
      const connection = await existing
      if (connection.isOpen) return connection
      if (this.connections.get(name) !== existing) return await this.connection(name, address)
    }
    const connecting = this.connect(address)
    this.connections.set(name, connecting)
    try {
      return await connecting
    } catch (error) {
      if (this.connections.get(name) === connecting) this.connections.delete(name)
      throw error
    }
  }

  /** A connection to the coordinator of a group or transactional id. */
  async coordinator(kind: CoordinatorKind, key: string): Promise<KafkaConnection> {
    const name = `${kind}/${key}`
    let nodeId = this.coordinators.get(name)
    if (nodeId === undefined) {
      const connection = await this.anyBroker()
      const answer = await connection.call(findCoordinatorV4.api, kind === 'group' ? 0 : 1, [key])
      const found = answer.coordinators[0]!
      throwKafkaError(found.errorCode, `coordinator of ${kind} "${key}"`, found.errorMessage)
      nodeId = found.nodeId
      this.nodes.set(nodeId, { host: found.host, port: found.port })
      this.coordinators.set(name, nodeId)
    }
    try {
      return await this.node(nodeId)
    } catch (error) {
      this.coordinators.delete(name)
      throw error
    }
  }

  /** The coordinator is asked for anew before the next use. */
  forgetCoordinator(kind: CoordinatorKind, key: string): void {
    this.coordinators.delete(`${kind}/${key}`)
  }

  /**
   * A request to a coordinator, repeated while it moves or restarts. `errorOf` says which number
   * the answer carries.
   */
  async callCoordinator<Answer>(
    kind: CoordinatorKind,
    key: string,
    doing: string,
    request: (connection: KafkaConnection) => Promise<Answer>,
    errorOf: (answer: Answer) => number,
    timeoutMs = this.deliveryTimeoutMs,
  ): Promise<Answer> {
    const attempt = async (): Promise<Answer> => {
      try {
        const answer = await request(await this.coordinator(kind, key))
        throwKafkaError(errorOf(answer), doing)
        return answer
      } catch (error) {
        if (!isConcurrent(error)) this.forgetCoordinator(kind, key)
        throw error
      }
    }
    return await this.retry(doing, attempt, timeoutMs)
  }

  /** Closes every connection; what still waits for an answer fails. */
  async close(): Promise<void> {
    this.closed = true
    const connections = [...this.connections.values()]
    this.connections.clear()
    await Promise.all(
      connections.map(async (connecting) => {
        const connection = await connecting.catch(() => undefined)
        await connection?.close()
      }),
    )
  }
}

function isConcurrent(error: unknown): boolean {
  return isWeirError(error) && error.details['kafkaError'] === KAFKA_ERRORS.CONCURRENT_TRANSACTIONS
}
