import { join } from 'node:path'
import { until } from '../../run/until.ts'
import { type CommandProcess, type CommandResult, jsonLines, weir } from '../cli/command-process.ts'

/** A job in several processes. */
export interface ScaledJob {
  readonly brokers: string
  readonly applicationId: string
  readonly partitions: number
  /** Module of the job, and its options. */
  readonly module: string
  readonly options: Readonly<Record<string, string>>
  /** Folder that all processes reach. */
  readonly folder: string
  readonly settings?: Readonly<Record<string, string>>
  readonly env?: Record<string, string>
}

/** One of the processes of a job: `weir run --scale-out`, and what it says of its partitions. */
export class JobMember implements AsyncDisposable {
  readonly process: CommandProcess

  constructor(job: ScaledJob, more: readonly string[] = []) {
    const settings = {
      'application.id': job.applicationId,
      'scale-out.partitions': String(job.partitions),
      'session.timeout.ms': '6 s',
      'heartbeat.interval.ms': '300 ms',
      'execution.checkpointing.interval': '100 ms',
      'execution.checkpointing.dir': join(job.folder, 'checkpoints'),
      'rest.port': '0',
      'state.backend.directory': join(job.folder, 'state'),
      ...job.settings,
    }
    this.process = weir(
      [
        ...['run', job.module, '--scale-out', '--brokers', job.brokers, '--json'],
        ...['--listen', '127.0.0.1:0'],
        ...Object.entries(job.options).flatMap(([name, value]) => ['--option', `${name}=${value}`]),
        ...Object.entries(settings).flatMap(([key, value]) => ['-D', `${key}=${value}`]),
        ...more,
      ],
      job.env === undefined ? {} : { env: job.env },
    )
  }

  /** The job partitions that run in it, ascending. */
  get running(): number[] {
    const running = new Set<number>()
    for (const event of this.allEvents()) {
      const { partition, active, release } = event
      if (event['event'] === 'running') running.add(partition as number)
      else if (event['event'] === 'released') running.delete(partition as number)
      else if (event['event'] === 'joined') {
        const kept = new Set([...(active as number[]), ...(release as number[])])
        for (const one of running) if (!kept.has(one)) running.delete(one)
      }
    }
    return [...running].toSorted((a, b) => a - b)
  }

  /** The port on which it answers queries, once it has said so. */
  async queryPort(): Promise<number> {
    const listening = () => this.events('listening')[0]
    await until(
      () => `it answers queries:\n${this.printed}`,
      () => listening() !== undefined,
    )
    return Number(String(listening()!['address']).split(':').at(-1))
  }

  /** Resolves when so many job partitions run in it. */
  async untilRunning(count: number): Promise<void> {
    await until(
      () => `${count} partitions run, now ${this.running}:\n${this.printed}`,
      () => {
        if (this.process.hasEnded) throw new Error(`it ended:\n${this.printed}`)
        return this.running.length === count
      },
    )
  }

  /** Ends it without its notice. */
  async kill(): Promise<void> {
    this.process.signal('SIGKILL')
    await this.process.ended
  }

  /** Ends it by SIGTERM, as a supervisor does; resolves when it has handed over. */
  async leave(): Promise<CommandResult> {
    this.process.signal('SIGTERM')
    return await this.process.ended
  }

  /** All that it has printed. */
  get printed(): string {
    return `${this.process.printedOutput}${this.process.printedErrors}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process[Symbol.asyncDispose]()
  }

  /** What it has reported so, oldest first. */
  events(name: string): Record<string, unknown>[] {
    return this.allEvents().filter(({ event }) => event === name)
  }

  private allEvents(): Record<string, unknown>[] {
    const text = this.process.printedOutput
    return jsonLines(text.slice(0, text.lastIndexOf('\n') + 1))
  }
}
