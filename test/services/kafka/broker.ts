import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waiting } from '../../run/waits.ts'
import { freePorts } from '../free-port.ts'
import { ClassArchive } from '../java/class-archive.ts'
import { JAVA_PACKAGE, JavaProcess } from '../java/process.ts'
import { KeptFolder } from '../kept-folder.ts'
import { mavenClassPath, runTool } from '../maven-classpath.ts'
import type { KafkaAccess } from './access.ts'
import { type KafkaNodeLayout, type KafkaSettings, kafkaProperties } from './configuration.ts'
import { KAFKA_BROKER_FLAGS, KAFKA_QUICK_FLAGS, KAFKA_SETTINGS, KAFKA_TOOL_FLAGS } from './flags.ts'
import { runKafkaTool } from './tools.ts'

/** Options of a broker: number of nodes and additional configuration. */
export interface KafkaBrokerOptions extends KafkaSettings {
  /** 1 or 3. @default 1 */
  readonly nodes?: 1 | 3
  /** Whether nodes start quickly on a busy machine, at the price of throughput. @default false */
  readonly startsQuickly?: boolean
  /** Whether the node keeps its classes for later JVMs when it stops, unless one has. @default false */
  readonly keepsClasses?: boolean
}

interface BrokerParts {
  readonly folder: string
  readonly classPath: string
  readonly flags: readonly string[]
  readonly nodes: readonly KafkaNodeLayout[]
  /** Where the node keeps its classes; undefined if it does not. */
  readonly keeping: ClassArchive | undefined
}

/**
 * A real Kafka on this machine (KRaft, every node is broker and controller) on free ports of 127.0.0.1 and in a
 * temporary folder. A test can kill and restart every node. It ends with this process.
 */
export class KafkaBroker implements KafkaAccess, AsyncDisposable {
  readonly nodes: readonly KafkaNodeLayout[]
  private readonly folder: string
  /** Of Kafka and its tools. */
  readonly classPath: string
  private readonly flags: readonly string[]
  private readonly keeping: ClassArchive | undefined
  private readonly processes: (JavaProcess | undefined)[] = []

  private constructor({ folder, classPath, flags, nodes, keeping }: BrokerParts) {
    this.folder = folder
    this.keeping = keeping
    this.classPath = classPath
    this.flags = flags
    this.nodes = nodes
  }

  /** Formats and starts the nodes, and waits until each accepts connections. */
  static start(options: KafkaBrokerOptions = {}): Promise<KafkaBroker> {
    return waiting('server', () => KafkaBroker.startAll(options))
  }

  private static async startAll(options: KafkaBrokerOptions): Promise<KafkaBroker> {
    const jars = await mavenClassPath(join(KAFKA_SETTINGS, 'pom.xml'))
    const folder = await mkdtemp(join(tmpdir(), 'weir-kafka-'))
    const count = options.nodes ?? 1
    const ports = await freePorts(count * 3)
    const nodes = Array.from({ length: count }, (_, i) => ({
      id: i + 1,
      clientPort: ports[i * 3]!,
      controllerPort: ports[i * 3 + 1]!,
      saslPort: ports[i * 3 + 2]!,
      logFolder: join(folder, `node${i + 1}`, 'logs'),
    }))
    const archive = new ClassArchive(jars)
    const keeping = options.keepsClasses === true && !archive.exists ? archive : undefined
    const flags = [
      ...(options.startsQuickly ? KAFKA_QUICK_FLAGS : KAFKA_BROKER_FLAGS),
      ...(keeping?.writeFlags ?? archive.readFlags),
    ]
    const broker = new KafkaBroker({ folder, classPath: jars, flags, nodes, keeping })
    try {
      await broker.format(options)
      await Promise.all(nodes.map((_, i) => broker.startNode(i)))
    } catch (error) {
      await broker.stop()
      throw error
    }
    return broker
  }

  /** `host:port` of every node, joined by commas. */
  get bootstrap(): string {
    return this.nodes.map(({ clientPort }) => `127.0.0.1:${clientPort}`).join(',')
  }

  /** `host:port` of the listener with SASL of the first node. */
  get saslBootstrap(): string {
    return `127.0.0.1:${this.nodes[0]!.saslPort}`
  }

  /** Gives each node a formatted folder; the first time ever a JVM makes one. */
  private async format(options: KafkaBrokerOptions): Promise<void> {
    for (const node of this.nodes) await this.configure(node, options)
    const formatted = new KeptFolder(`formatted ${this.classPath}`)
    if (!formatted.exists) await formatted.keep(await this.formatByKafka())
    const clusterId = randomId()
    for (const { id, logFolder } of this.nodes) {
      await formatted.give(logFolder)
      await setIdentity(logFolder, id, clusterId)
    }
  }

  /** Lets Kafka format the folder of the first node; returns it. */
  private async formatByKafka(): Promise<string> {
    const [first] = this.nodes
    const { readFlags } = new ClassArchive(this.classPath)
    const flags = [...KAFKA_TOOL_FLAGS, ...readFlags, '-cp', this.classPath]
    const id = `--cluster-id=${randomId()}`
    const task = ['kafka.tools.StorageTool', 'format', id, '-c', this.propertiesOf(first!)]
    await runTool('java', JAVA_PACKAGE, [...flags, ...task])
    return first!.logFolder
  }

  private async configure(node: KafkaNodeLayout, options: KafkaBrokerOptions): Promise<void> {
    await mkdir(node.logFolder, { recursive: true })
    await writeFile(this.propertiesOf(node), kafkaProperties(node, this.nodes, options))
  }

  private propertiesOf(node: KafkaNodeLayout): string {
    return join(this.folder, `node${node.id}`, 'server.properties')
  }

  /** Starts a stopped node with its data, and waits until it accepts connections. */
  async startNode(index = 0): Promise<void> {
    const node = this.nodes[index]!
    const process = await JavaProcess.start({
      classPath: this.classPath,
      mainClass: 'kafka.Kafka',
      args: [this.propertiesOf(node)],
      flags: this.flags,
      logFile: join(this.folder, `node${node.id}`, 'server.log'),
    })
    this.processes[index] = process
    // The broker opens the port only when it is unfenced.
    await process.until('ready', () => answers(node.clientPort))
  }

  /** Stops a node: with SIGKILL as in a power cut, with SIGTERM in a controlled shutdown. */
  async stopNode(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL', index = 0): Promise<void> {
    await this.processes[index]?.signal(signal)
  }

  /** Pauses a node (`SIGSTOP`) or continues it (`SIGCONT`). */
  async pauseNode(signal: 'SIGSTOP' | 'SIGCONT', index = 0): Promise<void> {
    await this.processes[index]?.signal(signal)
  }

  tool(mainClass: string, args: readonly string[], input?: string): Promise<string> {
    return runKafkaTool(this, mainClass, args, input)
  }

  /** Stops every node and removes the files. */
  async stop(): Promise<void> {
    const signal = this.keeping === undefined ? 'SIGKILL' : 'SIGTERM'
    for (const process of this.processes) await process?.signal(signal)
    this.keeping?.keep()
    await rm(this.folder, { recursive: true, force: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}

/** Writes the ids of a node into its formatted folder. */
async function setIdentity(folder: string, nodeId: number, clusterId: string): Promise<void> {
  const path = join(folder, 'meta.properties')
  const properties = (await readFile(path, 'utf8'))
    .replace(/^node\.id=.*$/m, `node.id=${nodeId}`)
    .replace(/^cluster\.id=.*$/m, `cluster.id=${clusterId}`)
    .replace(/^directory\.id=.*$/m, `directory.id=${randomId()}`)
  await writeFile(path, properties)
}

/** An id as Kafka's own: it does not begin with a dash. */
const randomId = (): string => `A${randomBytes(16).toString('base64url').slice(1)}`

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
