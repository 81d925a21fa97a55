import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waiting } from '../run/waits.ts'
import { freePorts } from './free-port.ts'
import {
  configurationFolder,
  type HdfsLayout,
  nameNodeId,
  writeHdfsConfiguration,
} from './hdfs-configuration.ts'
import { hdfsUrl } from './hdfs-url.ts'
import { JAVA_PACKAGE, JavaProcess } from './java-process.ts'
import { mavenClassPath, runTool } from './maven-classpath.ts'

const NAME_NODE = 'org.apache.hadoop.hdfs.server.namenode.NameNode'
const DATA_NODE = 'org.apache.hadoop.hdfs.server.datanode.DataNode'
const HA_ADMIN = 'org.apache.hadoop.hdfs.tools.DFSHAAdmin'

const JVM_FLAGS = [
  '-Xmx256m',
  // They start often and run for a short time, so the C1 compiler alone is faster.
  '-XX:TieredStopAtLevel=1',
  '-XX:+UseSerialGC',
  '-Djava.net.preferIPv4Stack=true',
  '--add-opens=java.base/java.lang=ALL-UNNAMED',
]

/** The signal that stops a JVM: SIGKILL at once, SIGTERM with a shutdown. */
export type StopSignal = 'SIGKILL' | 'SIGTERM'

/**
 * A real HDFS on this machine: one NameNode or a pair, and one DataNode, on free ports of 127.0.0.1 and in a
 * temporary folder. A test can kill and restart every process.
 */
export class HdfsCluster implements AsyncDisposable {
  private readonly layout: HdfsLayout
  private readonly classPath: string
  private readonly nameNodes: (JavaProcess | undefined)[] = []
  private dataNode: JavaProcess | undefined

  private constructor(layout: HdfsLayout, classPath: string) {
    this.layout = layout
    this.classPath = classPath
  }

  /** Formats and starts a cluster, ready to write. `pair` makes NameNode 0 active, 1 standby. */
  static start(options: { readonly pair?: boolean } = {}): Promise<HdfsCluster> {
    return waiting('server', () => HdfsCluster.startAll(options))
  }

  private static async startAll(options: { readonly pair?: boolean }): Promise<HdfsCluster> {
    const jars = await mavenClassPath(join(import.meta.dirname, 'hdfs', 'pom.xml'))
    const folder = await mkdtemp(join(tmpdir(), 'weir-hdfs-'))
    const [data, http, ipc, ...rest] = await freePorts(options.pair ? 7 : 5)
    const nameNodes = [{ rpc: rest[0]!, http: rest[1]! }]
    if (options.pair) nameNodes.push({ rpc: rest[2]!, http: rest[3]! })
    const layout = { folder, nameNodes, dataNode: { data: data!, http: http!, ipc: ipc! } }
    await writeHdfsConfiguration(layout)
    const cluster = new HdfsCluster(layout, `${configurationFolder(layout)}:${jars}`)
    try {
      await cluster.bringUp()
    } catch (error) {
      await cluster.stop()
      throw error
    }
    return cluster
  }

  /** `host:port` of every NameNode's WebHDFS, joined by commas as in an `hdfs://` URL. */
  get authority(): string {
    return this.layout.nameNodes.map(({ http }) => `127.0.0.1:${http}`).join(',')
  }

  /** An `hdfs://` URL of a path, for the superuser. */
  url(path: string, authority = this.authority): string {
    return hdfsUrl(authority, path)
  }

  /** Port of a NameNode's WebHDFS, for a proxy. */
  httpPort(nameNode = 0): number {
    return this.layout.nameNodes[nameNode]!.http
  }

  /** Port of a NameNode's RPC, which is not WebHDFS. */
  rpcPort(nameNode = 0): number {
    return this.layout.nameNodes[nameNode]!.rpc
  }

  /** HTTP port of the DataNode for file content. */
  get dataPort(): number {
    return this.layout.dataNode.http
  }

  async stopNameNode(signal: StopSignal = 'SIGKILL', index = 0): Promise<void> {
    await this.nameNodes[index]?.signal(signal)
  }

  async stopDataNode(signal: StopSignal = 'SIGKILL'): Promise<void> {
    await this.dataNode?.signal(signal)
  }

  /** Starts a stopped NameNode and waits until it answers. It can be in safe mode. */
  async startNameNode(index = 0): Promise<void> {
    const process = await this.startJava(nameNodeId(index), NAME_NODE, this.identityOf(index))
    this.nameNodes[index] = process
    await process.until('answering', async () => (await this.stateOf(index)) !== undefined)
  }

  /** Starts the DataNode. `untilWritable` waits until it is ready. */
  async startDataNode(): Promise<void> {
    this.dataNode = await this.startJava('dn', DATA_NODE, [])
  }

  /** Waits until a NameNode is out of safe mode and knows the DataNode. */
  async untilWritable(index = 0): Promise<void> {
    await this.nameNodes[index]!.until('writable', async () => {
      const system = await this.bean(index, 'FSNamesystemState')
      return system['FSState'] === 'Operational' && system['NumLiveDataNodes'] === 1
    })
  }

  /** Makes a NameNode of the pair active. The other must be stopped or standby. */
  async activate(index: number): Promise<void> {
    await this.administer(`-transitionToActive --forceactive ${nameNodeId(index)}`)
    await this.nameNodes[index]!.until('active', async () => {
      return (await this.stateOf(index)) === 'active'
    })
  }

  /** Stops every process and removes the files. */
  async stop(): Promise<void> {
    await this.dataNode?.signal('SIGKILL')
    for (const nameNode of this.nameNodes) await nameNode?.signal('SIGKILL')
    await rm(this.layout.folder, { recursive: true, force: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  private get isPair(): boolean {
    return this.layout.nameNodes.length > 1
  }

  private async bringUp(): Promise<void> {
    await this.format()
    await Promise.all(this.layout.nameNodes.map((_, index) => this.startNameNode(index)))
    await this.startDataNode()
    if (this.isPair) await this.activate(0)
    await this.untilWritable()
  }

  private async format(): Promise<void> {
    const flags = [...JVM_FLAGS, '-cp', this.classPath]
    const task = [...this.identityOf(0), '-format', '-nonInteractive', '-force']
    await runTool('java', JAVA_PACKAGE, [...flags, NAME_NODE, ...task])
    // The standby starts from the same empty image, as with "-bootstrapStandby".
    const { folder } = this.layout
    if (this.isPair) await cp(join(folder, 'nn1'), join(folder, 'nn2'), { recursive: true })
  }

  private identityOf(index: number): readonly string[] {
    return this.isPair ? ['-D', `dfs.ha.namenode.id=${nameNodeId(index)}`] : []
  }

  private async administer(command: string): Promise<void> {
    const words = [...JVM_FLAGS, '-cp', this.classPath, HA_ADMIN]
    // The command asks for a confirmation on standard input.
    const script = `echo Y | java ${words.map((word) => `'${word}'`).join(' ')} ${command}`
    await runTool('sh', 'dash', ['-c', script])
  }

  private startJava(
    name: string,
    mainClass: string,
    args: readonly string[],
  ): Promise<JavaProcess> {
    const logs = join(this.layout.folder, 'logs')
    return JavaProcess.start({
      classPath: this.classPath,
      mainClass,
      args,
      flags: [...JVM_FLAGS, `-Dhadoop.log.dir=${logs}`],
      logFile: join(logs, `${name}.log`),
    })
  }

  /** `active` or `standby`; undefined without an answer. */
  private async stateOf(index: number): Promise<string | undefined> {
    return (await this.bean(index, 'NameNodeStatus'))['State'] as string | undefined
  }

  private async bean(index: number, name: string): Promise<Record<string, unknown>> {
    const query = `http://127.0.0.1:${this.httpPort(index)}/jmx?qry=Hadoop:service=NameNode,name=${name}`
    const response = await fetch(query, { signal: AbortSignal.timeout(2000) })
    const { beans } = (await response.json()) as { beans: Record<string, unknown>[] }
    return beans[0] ?? {}
  }
}
