import { userInfo } from 'node:os'
import { freePorts } from '../../test/services/free-port.ts'
import { HdfsCluster } from '../../test/services/hdfs-cluster.ts'
import { KafkaBroker } from '../../test/services/kafka/broker.ts'
import { TcpProxy } from '../../test/services/tcp-proxy.ts'
import { partitionLeader } from '../kafka/client.ts'
import { type Line, lineOf } from './query-line.ts'

const NODES = 3
const PROPERTIES = {
  // One partition, so that one broker coordinates all transactions.
  'transaction.state.log.num.partitions': '1',
  // A busy machine must not look like a dead broker.
  'broker.session.timeout.ms': '3000',
  // An id that is not used for half a minute is gone, as after a quiet week.
  'transactional.id.expiration.ms': '30000',
  'transaction.remove.expired.transaction.cleanup.interval.ms': '1000',
}

/** A partition whose leader is asked for. */
interface LedPartition {
  readonly topic: string
  readonly partition: number
  /** Brokers that are not asked. */
  readonly without?: readonly number[]
}

interface WorldServices {
  readonly broker: KafkaBroker
  readonly hdfs: HdfsCluster
  readonly kafkaProxies: readonly TcpProxy[]
  readonly hdfsProxy: TcpProxy
}

/** Three real brokers and a real HDFS on this machine, and the proxies through which Weir connects to them. */
export class World implements AsyncDisposable {
  readonly broker: KafkaBroker
  readonly hdfs: HdfsCluster
  readonly kafkaLine: Line
  readonly hdfsLine: Line
  /** Bootstrap addresses of the proxies in front of the brokers. */
  readonly weirBrokers: string
  /** Bootstrap addresses of the brokers, for the verifier's producers and readers. */
  readonly directBrokers: string
  private starting: Promise<void> = Promise.resolve()
  private readonly hdfsProxy: TcpProxy
  private readonly kafkaProxies: readonly TcpProxy[]

  private constructor({ broker, hdfs, kafkaProxies, hdfsProxy }: WorldServices) {
    this.broker = broker
    this.hdfs = hdfs
    this.kafkaProxies = kafkaProxies
    this.hdfsProxy = hdfsProxy
    this.kafkaLine = lineOf(...kafkaProxies)
    this.hdfsLine = lineOf(hdfsProxy)
    this.weirBrokers = kafkaProxies.map(({ port }) => `127.0.0.1:${port}`).join(',')
    this.directBrokers = broker.bootstrap
  }

  /** Starts all services. */
  static async start(): Promise<World> {
    const ports = await freePorts(NODES)
    const kafkaProxies = await Promise.all(ports.map((port) => TcpProxy.start(port)))
    const proxied = kafkaProxies.map((proxy, i) => ({
      port: ports[i]!,
      advertisedPort: proxy.port,
    }))
    const [broker, hdfs] = await Promise.allSettled([
      KafkaBroker.start({ nodes: NODES, startsQuickly: true, proxied, properties: PROPERTIES }),
      HdfsCluster.start(),
    ])
    if (broker.status === 'fulfilled' && hdfs.status === 'fulfilled') {
      const hdfsProxy = await TcpProxy.start(hdfs.value.httpPort())
      return new World({ broker: broker.value, hdfs: hdfs.value, kafkaProxies, hdfsProxy })
    }
    await Promise.all(kafkaProxies.map((proxy) => proxy.stop()))
    if (broker.status === 'fulfilled') await broker.value.stop()
    if (hdfs.status === 'fulfilled') await hdfs.value.stop()
    throw broker.status === 'rejected' ? broker.reason : (hdfs as PromiseRejectedResult).reason
  }

  /** An `hdfs://` URL through the proxy; a request that takes longer than its timeout, ms, is repeated. */
  checkpoints(path: string, timeoutMs = 3000): string {
    return `${this.hdfs.url(path, `127.0.0.1:${this.hdfsProxy.port}`)}&timeout-ms=${timeoutMs}`
  }

  /** The one partition with the states of Kafka's transactions; its leader coordinates all of them. */
  readonly transactions = { topic: '__transaction_state', partition: 0 } as const

  /** Starts a stopped broker in the background, so that faults hit the other two meanwhile. */
  startBrokerLater(index: number): void {
    const starting = this.broker.startNode(index)
    starting.catch(() => undefined)
    this.starting = starting
  }

  /** Resolves when every broker runs. */
  async untilBrokersRun(): Promise<void> {
    await this.starting
  }

  /** Index of the broker that leads a partition; -1 for none.  */
  async leaderOf({ topic, partition, without = [] }: LedPartition): Promise<number> {
    const { nodes } = this.broker
    const asked = nodes.filter((_, i) => !without.includes(i))
    const brokers = asked.map(({ clientPort }) => `127.0.0.1:${clientPort}`).join(',')
    const id = await partitionLeader(brokers, topic, partition)
    return nodes.findIndex((node) => node.id === id)
  }

  /** Transactional ids that the brokers know. */
  async transactionalIds(): Promise<readonly string[]> {
    const table = await this.broker.tool('org.apache.kafka.tools.TransactionsCommand', ['list'])
    return table.split('\n').map((line) => line.split(/\s/, 1)[0]!)
  }

  /** Sets the space quota of a folder of HDFS in bytes; undefined removes it. */
  async setQuota(path: string, bytes: number | undefined): Promise<void> {
    // 2^63 - 1 does not change the quota of names; -1 removes the quota.
    const query = new URLSearchParams({
      op: 'SETQUOTA',
      namespacequota: '9223372036854775807',
      storagespacequota: String(bytes ?? -1),
      'user.name': userInfo().username,
    })
    const url = `http://127.0.0.1:${this.hdfs.httpPort()}/webhdfs/v1${path}?${query}`
    const answer = await fetch(url, { method: 'PUT', signal: AbortSignal.timeout(10_000) })
    if (!answer.ok) throw new Error(`HDFS did not set the quota: ${await answer.text()}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.starting.catch(() => undefined)
    await Promise.all([this.broker.stop(), this.hdfs.stop()])
    await Promise.all([...this.kafkaProxies, this.hdfsProxy].map((proxy) => proxy.stop()))
  }
}
