import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ResourceStack } from '../../src/core/lifetime/resource-stack.ts'
import { freePorts } from '../../test/services/free-port.ts'
import { KafkaBroker } from '../../test/services/kafka/broker.ts'
import { MotoServer, motoPython } from '../../test/services/s3/moto-server.ts'
import { TcpProxy } from '../../test/services/tcp-proxy.ts'
import type { ScaledJob } from '../../test/system/scale-out/fixture.ts'
import { createTopics } from '../kafka/client.ts'

/** Most processes of the job at a time; each has a line of its own to Kafka. */
export const MOST_PROCESSES = 5
export const INPUT_PARTITIONS = 3
export const JOB_PARTITIONS = 4
export const SESSION_MS = 6_000
export const TOPICS = { input: 'operations', results: 'results', windows: 'windows' } as const

const BUCKET = 'weir'

/** Storage of the checkpoints: a folder of this machine, or a server of S3 behind a proxy. */
export type SiteStorage = 'folder' | 's3'

/** Where a job in many processes runs: a real Kafka, a line to it for each process, and storage. */
export class Site implements AsyncDisposable {
  readonly broker: KafkaBroker
  /** The line of each process. */
  readonly lines: readonly TcpProxy[]
  /** In front of the storage; undefined for a folder. */
  readonly storageLine: TcpProxy | undefined
  readonly applicationId = `scaled-${randomUUID().slice(0, 8)}`
  private readonly folder: string
  private readonly checkpoints: string
  private readonly resources: ResourceStack

  private constructor(parts: {
    readonly broker: KafkaBroker
    readonly lines: readonly TcpProxy[]
    readonly storageLine: TcpProxy | undefined
    readonly folder: string
    readonly resources: ResourceStack
  }) {
    const { broker, lines, storageLine, folder, resources } = parts
    this.broker = broker
    this.lines = lines
    this.storageLine = storageLine
    this.folder = folder
    this.resources = resources
    this.checkpoints =
      storageLine === undefined
        ? join(folder, 'checkpoints')
        : `s3://${BUCKET}/checkpoints?endpoint=http://127.0.0.1:${storageLine.port}&timeout-ms=2000`
  }

  /** Starts all services, and creates the topics. S3 needs Python with moto; without it the storage is a folder. */
  static async start(storage: SiteStorage): Promise<Site> {
    await using opened = new ResourceStack()
    const folder = mkdtempSync(join(tmpdir(), 'weir-scaled-'))
    opened.defer(() => rmSync(folder, { recursive: true, force: true }))
    const ports = await freePorts(MOST_PROCESSES)
    const lines = await Promise.all(ports.map((port) => TcpProxy.start(port)))
    for (const line of lines) opened.use(line)
    const broker = await KafkaBroker.start({
      startsQuickly: true,
      lines: lines.map((line, i) => ({ port: ports[i]!, advertisedPort: line.port })),
    })
    opened.use(broker)
    const storageLine = storage === 's3' ? await startStorage(opened) : undefined
    await createTopics(broker.bootstrap, {
      [TOPICS.input]: INPUT_PARTITIONS,
      [TOPICS.results]: 2,
      [TOPICS.windows]: 2,
    })
    return new Site({ broker, lines, storageLine, folder, resources: opened.move() })
  }

  /** The job as a process sees it on its line. */
  jobOn(line: number): ScaledJob {
    const brokers = `127.0.0.1:${this.lines[line]!.port}`
    return {
      brokers,
      applicationId: this.applicationId,
      partitions: JOB_PARTITIONS,
      module: join(import.meta.dirname, 'job.ts'),
      options: { brokers, ...TOPICS },
      folder: this.folder,
      settings: {
        'execution.checkpointing.dir': this.checkpoints,
        // The server of S3 has one thread.
        'execution.checkpointing.interval': this.storageLine === undefined ? '200 ms' : '500 ms',
        'execution.checkpointing.tolerable-failed-checkpoints': '1000',
        'execution.checkpointing.timeout': '10 s',
        'restart-strategy.type': 'fixed-delay',
        'restart-strategy.fixed-delay.attempts': '1000',
        'restart-strategy.fixed-delay.delay': '100 ms',
        'session.timeout.ms': `${SESSION_MS} ms`,
      },
      env: { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'key' },
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.resources[Symbol.asyncDispose]()
  }
}

async function startStorage(opened: ResourceStack): Promise<TcpProxy | undefined> {
  const python = await motoPython()
  if (python === undefined) return undefined
  const server = await MotoServer.start(python)
  opened.use(server)
  const answer = await fetch(`${server.url}/${BUCKET}`, { method: 'PUT' })
  if (!answer.ok) throw new Error(`the bucket was not made: ${await answer.text()}`)
  const line = await TcpProxy.start(server.port)
  opened.use(line)
  return line
}
