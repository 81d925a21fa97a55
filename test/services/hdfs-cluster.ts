import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waiting } from '../run/waits.ts'
import { freePorts } from './free-port.ts'
import {
  configurationFolder,
  type HdfsLayout,
  nameNodeId,
  namesFolder,
  writeHdfsConfiguration,
} from './hdfs-configuration.ts'
import { hdfsUrl } from './hdfs-url.ts'
import { ClassArchive } from './java/class-archive.ts'
import { JAVA_PACKAGE, JavaProcess } from './java/process.ts'
import { KeptFolder } from './kept-folder.ts'
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

/** Options of a cluster. */
export interface HdfsOptions {
  /** Whether there are two NameNodes: 0 is active, and 1 is standby. @default false */
  readonly pair?: boolean
  /** Whether its programs keep their classes for later JVMs when they stop, unless some have. @default false */
  readonly keepsClasses?: boolean
}

/** The signal that stops a JVM: SIGKILL at once, SIGTERM with a shutdown. */
export type StopSignal = 'SIGKILL' | 'SIGTERM'

/**
 * A real HDFS on this machine: one NameNode or a pair, and one DataNode, on free ports of 127.0.0.1 and in a
 * temporary folder. A test can kill and restart every process.
 */
export class HdfsCluster implements AsyncDisposable {
  private readonly layout: HdfsLayout
  private readonly jars: string
  /** By program, the classes that its JVMs share. */
  private readonly archives: ReadonlyMap<string, ClassArchive>
  /** Whether the programs keep their classes for later JVMs when they stop. */
  private readonly keepsClasses: boolean
  private readonly nameNodes: (JavaProcess | undefined)[] = []
  private dataNode: JavaProcess | undefined

  private constructor(layout: HdfsLayout, jars: string, keepsClasses: boolean) {
    this.layout = layout
    this.jars = jars
    this.archives = new Map(
      [NAME_NODE, DATA_NODE].map((name) => [name, new ClassArchive(`${name} ${jars}`)]),
    )
    this.keepsClasses = keepsClasses
  }

  /** Formats and starts a cluster, ready to write. */
  static start(options: HdfsOptions = {}): Promise<HdfsCluster> {
    return waiting('server', () => HdfsCluster.startAll(options))
  }

  private static async startAll(options: HdfsOptions): Promise<HdfsCluster> {
    const jars = await mavenClassPath(join(import.meta.dirname, 'hdfs', 'pom.xml'))
    const folder = await mkdtemp(join(tmpdir(), 'weir-hdfs-'))
    const [data, http, ipc, ...rest] = await freePorts(options.pair ? 7 : 5)
    const nameNodes = [{ rpc: rest[0]!, http: rest[1]! }]
    if (options.pair) nameNodes.push({ rpc: rest[2]!, http: rest[3]! })
    const layout = { folder, nameNodes, dataNode: { data: data!, http: http!, ipc: ipc! } }
    await writeHdfsConfiguration(layout)
    const cluster = new HdfsCluster(layout, jars, options.keepsClasses === true)
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
    const end = (process: JavaProcess | undefined, mainClass: string): Promise<void> | undefined =>
      process?.signal(this.keeps(mainClass) ? 'SIGTERM' : 'SIGKILL')
    const nameNodes = this.nameNodes.map((nameNode) => end(nameNode, NAME_NODE))
    await Promise.all([end(this.dataNode, DATA_NODE), ...nameNodes])
    if (this.keepsClasses) for (const archive of this.archives.values()) archive.keep()
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

  /** Gives the NameNodes a formatted folder; the first time ever a JVM makes one. */
  private async format(): Promise<void> {
    const folder = namesFolder(this.layout)
    const formatted = new KeptFolder(`${this.isPair ? 'pair' : 'one'} ${this.jars}`)
    if (formatted.exists) return await formatted.give(folder)
    const task = [...this.identityOf(0), '-format', '-nonInteractive', '-force']
    await runTool('java', JAVA_PACKAGE, [...this.javaWords(NAME_NODE), ...task])
    // The standby starts from the same empty image, as with "-bootstrapStandby".
    if (this.isPair) await cp(join(folder, 'nn1'), join(folder, 'nn2'), { recursive: true })
    await formatted.keep(folder)
  }

  /** Behind the jars, because JVMs share only classes of jars that come first; none of these has a configuration. */
  private get classPath(): string {
    return `${this.jars}:${configurationFolder(this.layout)}`
  }

  /** Words of a command that runs a program and ends; one has its classes from `archive`. */
  private javaWords(mainClass: string, archive = mainClass): readonly string[] {
    const { readFlags } = this.archives.get(archive)!
    return [...JVM_FLAGS, ...readFlags, '-cp', this.classPath, mainClass]
  }

  private keeps(mainClass: string): boolean {
    return this.keepsClasses && !this.archives.get(mainClass)!.exists
  }

  private identityOf(index: number): readonly string[] {
    return this.isPair ? ['-D', `dfs.ha.namenode.id=${nameNodeId(index)}`] : []
  }

  private async administer(command: string): Promise<void> {
    const words = this.javaWords(HA_ADMIN, NAME_NODE)
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
    const { readFlags, writeFlags } = this.archives.get(mainClass)!
    const classes = this.keeps(mainClass) ? writeFlags : readFlags
    return JavaProcess.start({
      classPath: this.classPath,
      mainClass,
      args,
      flags: [...JVM_FLAGS, ...classes, `-Dhadoop.log.dir=${logs}`],
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
