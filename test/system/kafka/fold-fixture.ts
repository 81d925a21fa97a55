import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { seededRandom } from '../../../src/core/random.ts'
import { type Folded, fold } from '../../recovery/fold/job.ts'
import { pause } from '../../run/pause.ts'
import { until } from '../../run/until.ts'
import type { KafkaFoldOptions } from './fold-job.ts'
import { type IndependentProducer, independentProducer } from './kafkajs-fixture.ts'

const JOB_ID = '00112233445566778899aabbccddeeff'
const KEYS = 500

/** Settings of a job with frequent checkpoints and immediate restarts. */
export function configurationIn(folder: string, parallelism: number): Record<string, string> {
  return {
    'parallelism.default': String(parallelism),
    'pipeline.max-parallelism': '64',
    'execution.checkpointing.interval': '100 ms',
    'execution.checkpointing.dir': join(folder, 'checkpoints'),
    'state.backend.directory': join(folder, 'state'),
    'restart-strategy.type': 'fixed-delay',
    'restart-strategy.fixed-delay.attempts': '100',
    'restart-strategy.fixed-delay.delay': '10 ms',
  }
}

/** Writes operations with kafkajs until it is stopped, and folds them itself. */
export class Load {
  readonly expected = new Map<string, Folded>()
  sent = 0
  private readonly producer: IndependentProducer
  private readonly random = seededRandom(3)
  private running: Promise<void> | undefined
  private stopped = false

  constructor(producer: IndependentProducer) {
    this.producer = producer
  }

  static async to(brokers: string, topic: string): Promise<Load> {
    return new Load(await independentProducer(brokers, topic))
  }

  async send(count: number): Promise<void> {
    const messages = Array.from({ length: count }, () => {
      const key = `k${this.random.below(KEYS)}`
      const amount = this.random.below(1_000)
      this.expected.set(key, fold(this.expected.get(key), { key, amount }))
      return { key, value: `${key},${amount}` }
    })
    this.sent += count
    await this.producer.send(messages)
  }

  start(): void {
    this.running = (async () => {
      while (!this.stopped) {
        await this.send(300)
        await pause(10, 'load comes over time')
      }
    })()
  }

  async stop(): Promise<void> {
    this.stopped = true
    await this.running
    await this.producer.close()
  }
}

/** The fold job on worker threads in a separate process, which tests kill. */
export class JobProcess {
  readonly exited: Promise<number | null>
  private readonly child: ChildProcess
  private status: unknown
  private checkpoints = 0

  constructor(folder: string, parallelism: number, job: KafkaFoldOptions) {
    const settings = { job, jobId: JOB_ID, configuration: configurationIn(folder, parallelism) }
    const script = new URL('./fold-process.ts', import.meta.url)
    this.child = fork(script, [JSON.stringify(settings)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.child.on('message', (message) => {
      if (typeof message === 'number') this.checkpoints = message
      else this.status = message
    })
    this.exited = new Promise((resolve) => this.child.on('exit', (code) => resolve(code)))
  }

  /** Resolves when the job runs and a number of checkpoints are complete. */
  async untilRunning(checkpoints: number): Promise<void> {
    await until(`the job runs with ${checkpoints} checkpoints`, () => {
      if (this.child.exitCode !== null) {
        throw new Error(`the job process ended with ${this.child.exitCode}`)
      }
      return this.status === 'RUNNING' && this.checkpoints >= checkpoints
    })
    this.status = undefined
  }

  killSlot(slot: number): void {
    this.child.send({ killSlot: slot })
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.exited
  }
}
