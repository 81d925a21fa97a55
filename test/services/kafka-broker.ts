import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts } from './free-port.ts'
import { JAVA_PACKAGE, JavaProcess } from './java-process.ts'
import { type KafkaNodeLayout, type KafkaSettings, kafkaProperties } from './kafka-configuration.ts'
import { runJavaTool } from './kafka-tools.ts'
import { mavenClassPath, runTool } from './maven-classpath.ts'

const SETTINGS_FOLDER = join(import.meta.dirname, 'kafka')

const QUIET = [
  '-Djava.awt.headless=true',
  `-Dlog4j2.configurationFile=${join(SETTINGS_FOLDER, 'log4j2.properties')}`,
  '-Dlog4j2.disableJmx=true',
]

const BROKER_FLAGS = ['-Xms256m', '-Xmx512m', '-XX:+UseG1GC', '-XX:MaxGCPauseMillis=20', ...QUIET]
const TOOL_FLAGS = ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', ...QUIET]

/** How many nodes there are and what their configuration adds. */
export interface KafkaBrokerOptions extends KafkaSettings {
  /** 1 (default) or 3. */
  readonly nodes?: 1 | 3
}

/**
 * A real Kafka of this machine (KRaft, every node broker and controller) on free loopback ports and
 * in a temporary folder. Every node can be killed and brought back. It dies with this process.
 */
export class KafkaBroker implements AsyncDisposable {
  readonly nodes: readonly KafkaNodeLayout[]
  private readonly folder: string
  private readonly classPath: string
  private readonly processes: (JavaProcess | undefined)[] = []

  private constructor(folder: string, classPath: string, nodes: readonly KafkaNodeLayout[]) {
    this.folder = folder
    this.classPath = classPath
    this.nodes = nodes
  }

  /** Formats and starts the nodes and waits until each takes connections. */
  static async start(options: KafkaBrokerOptions = {}): Promise<KafkaBroker> {
    const jars = await mavenClassPath(join(SETTINGS_FOLDER, 'pom.xml'))
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
    const broker = new KafkaBroker(folder, jars, nodes)
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

  private async format(options: KafkaBrokerOptions): Promise<void> {
    const clusterId = randomBytes(16).toString('base64url')
    for (const node of this.nodes) {
      await mkdir(node.logFolder, { recursive: true })
      await writeFile(this.propertiesOf(node), kafkaProperties(node, this.nodes, options))
      // In one word, because an id may begin with a dash.
      const task = ['format', `--cluster-id=${clusterId}`, '-c', this.propertiesOf(node)]
      const flags = [...TOOL_FLAGS, '-cp', this.classPath]
      await runTool('java', JAVA_PACKAGE, [...flags, 'kafka.tools.StorageTool', ...task])
    }
  }

  private propertiesOf(node: KafkaNodeLayout): string {
    return join(this.folder, `node${node.id}`, 'server.properties')
  }

  /** Starts a node that is down, with the data it has, and waits until it takes connections. */
  async startNode(index = 0): Promise<void> {
    const node = this.nodes[index]!
    const process = await JavaProcess.start({
      classPath: this.classPath,
      mainClass: 'kafka.Kafka',
      args: [this.propertiesOf(node)],
      flags: BROKER_FLAGS,
      logFile: join(this.folder, `node${node.id}`, 'server.log'),
    })
    this.processes[index] = process
    // The port is bound only when the broker is unfenced.
    await process.until('ready', () => answers(node.clientPort))
  }

  /** Kills a node as a power cut would, SIGKILL, or has it say goodbye, SIGTERM. */
  async stopNode(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL', index = 0): Promise<void> {
    await this.processes[index]?.signal(signal)
  }

  /** Halts a node without ending it (`SIGSTOP`), or lets it go on (`SIGCONT`). */
  async pauseNode(signal: 'SIGSTOP' | 'SIGCONT', index = 0): Promise<void> {
    await this.processes[index]?.signal(signal)
  }

  /**
   * Runs one of Kafka's own tools to its end and returns what it printed; `input` is its standard
   * input. `--bootstrap-server` is given already.
   */
  tool(mainClass: string, args: readonly string[], input = ''): Promise<string> {
    const command = [...TOOL_FLAGS, '-Dkafka.log.level=ERROR', '-cp', this.classPath, mainClass]
    return runJavaTool([...command, '--bootstrap-server', this.bootstrap, ...args], input)
  }

  /** Ends every node and removes the files. */
  async stop(): Promise<void> {
    for (const process of this.processes) await process?.signal('SIGKILL')
    await rm(this.folder, { recursive: true, force: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}

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
