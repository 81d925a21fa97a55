import { userInfo } from 'node:os'
import { freePorts } from '../test/services/free-port.ts'
import { HdfsCluster } from '../test/services/hdfs-cluster.ts'
import { KafkaBroker } from '../test/services/kafka-broker.ts'
import { TcpProxy } from '../test/services/tcp-proxy.ts'
import { type Line, lineOf } from './query-line.ts'

/** A real broker and a real HDFS of this machine, and the proxies through which Weir reaches them. */
export class World implements AsyncDisposable {
  readonly broker: KafkaBroker
  readonly hdfs: HdfsCluster
  readonly kafkaLine: Line
  readonly hdfsLine: Line
  /** Bootstrap of the broker behind the proxy. */
  readonly weirBrokers: string
  /** Bootstrap of the broker itself: for the verifier's own producers and readers. */
  readonly directBrokers: string
  private readonly hdfsProxy: TcpProxy
  private readonly kafkaProxy: TcpProxy

  private constructor(
    broker: KafkaBroker,
    hdfs: HdfsCluster,
    kafkaProxy: TcpProxy,
    hdfsProxy: TcpProxy,
  ) {
    this.broker = broker
    this.hdfs = hdfs
    this.kafkaProxy = kafkaProxy
    this.hdfsProxy = hdfsProxy
    this.kafkaLine = lineOf(kafkaProxy)
    this.hdfsLine = lineOf(hdfsProxy)
    this.weirBrokers = `127.0.0.1:${kafkaProxy.port}`
    this.directBrokers = broker.bootstrap
  }

  static async start(): Promise<World> {
    const [port] = await freePorts(1)
    const kafkaProxy = await TcpProxy.start(port!)
    const proxied = { port: port!, advertisedPort: kafkaProxy.port }
    const [broker, hdfs] = await Promise.allSettled([
      KafkaBroker.start({ proxied }),
      HdfsCluster.start(),
    ])
    if (broker.status === 'fulfilled' && hdfs.status === 'fulfilled') {
      const hdfsProxy = await TcpProxy.start(hdfs.value.httpPort())
      return new World(broker.value, hdfs.value, kafkaProxy, hdfsProxy)
    }
    await kafkaProxy.stop()
    if (broker.status === 'fulfilled') await broker.value.stop()
    if (hdfs.status === 'fulfilled') await hdfs.value.stop()
    throw broker.status === 'rejected' ? broker.reason : (hdfs as PromiseRejectedResult).reason
  }

  /** An `hdfs://` URL behind the proxy. */
  checkpoints(path: string): string {
    return `${this.hdfs.url(path, `127.0.0.1:${this.hdfsProxy.port}`)}&timeout-ms=3000`
  }

  /** Sets the space quota of a folder of HDFS in bytes; undefined lifts it. */
  async setQuota(path: string, bytes: number | undefined): Promise<void> {
    // 2^63 - 1 leaves the number of names as it is; -1 lifts the quota.
    const query = new URLSearchParams({
      op: 'SETQUOTA',
      namespacequota: '9223372036854775807',
      storagespacequota: String(bytes ?? -1),
      'user.name': userInfo().username,
    })
    const url = `http://127.0.0.1:${this.hdfs.httpPort()}/webhdfs/v1${path}?${query}`
    const answer = await fetch(url, { method: 'PUT', signal: AbortSignal.timeout(10_000) })
    if (!answer.ok) throw new Error(`the quota was not set: ${await answer.text()}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.broker.stop(), this.hdfs.stop()])
    await Promise.all([this.kafkaProxy.stop(), this.hdfsProxy.stop()])
  }
}
