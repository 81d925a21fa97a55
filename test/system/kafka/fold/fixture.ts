import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { expect } from 'vitest'
import { seededRandom } from '../../../../src/core/random.ts'
import { type Folded, fold } from '../../../recovery/fold/job.ts'
import { pause } from '../../../run/pause.ts'
import { until } from '../../../run/until.ts'
import type { KafkaAccess } from '../../../services/kafka/access.ts'
import { consumeWithJava } from '../../../services/kafka/tools.ts'
import { type IndependentProducer, independentProducer } from '../kafkajs-fixture.ts'
import type { KafkaFoldOptions } from './job.ts'

const JOB_ID = '00112233445566778899aabbccddeeff'
const KEYS = 500
/** Partitions of the output topic. */
export const OUTPUT_PARTITIONS = 2

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

/** A fold as a text that `Load.folds` has. */
export function textOfFold({ key, count, hash }: Folded): string {
  return `${key} ${count} ${hash}`
}

/** Writes operations with kafkajs until it is stopped, and folds them itself. */
export class Load {
  readonly expected = new Map<string, Folded>()
  /** Every fold of every key so far, `key count hash`. */
  readonly folds = new Set<string>()
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
      const next = fold(this.expected.get(key), { key, amount })
      this.expected.set(key, next)
      this.folds.add(textOfFold(next))
      return { key, value: `${key},${amount}` }
    })
    this.sent += count
    await this.producer.send(messages)
  }

  start(): void {
    this.running = (async () => {
      while (!this.stopped) {
        await this.send(100)
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

  constructor(
    folder: string,
    parallelism: number,
    job: KafkaFoldOptions,
    more: Readonly<Record<string, string>> = {},
  ) {
    const configuration = { ...configurationIn(folder, parallelism), ...more }
    const settings = { job, jobId: JOB_ID, configuration }
    const script = new URL('./process.ts', import.meta.url)
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

  /** Resolves when the process has completed a number of checkpoints since now. */
  async untilCompleted(more: number): Promise<void> {
    const before = this.checkpoints
    await until(`${more} more checkpoints are complete`, () => {
      if (this.child.exitCode !== null) {
        throw new Error(`the job process ended with ${this.child.exitCode}`)
      }
      return this.checkpoints >= before + more
    })
  }

  killSlot(slot: number): void {
    this.child.send({ killSlot: slot })
  }

  /** Stops the process without its notice, as a suspended machine, and lets it go on. */
  async freeze(ms: number): Promise<void> {
    this.child.kill('SIGSTOP')
    await pause(ms, 'the process is frozen for longer than a transaction may be open')
    this.child.kill('SIGCONT')
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.exited
  }
}

/** Compares the written results with the fold of the input: every result once, no others. */
export async function expectEachOnce(
  broker: KafkaAccess,
  output: string,
  load: Load,
): Promise<void> {
  const producer = await independentProducer(broker.bootstrap, output)
  // The last record of every partition: a transaction left open would hide it forever.
  const last = { key: '', value: 'end' }
  const ends = Array.from({ length: OUTPUT_PARTITIONS }, (_, partition) => ({ ...last, partition }))
  await producer.send(ends)
  await producer.close()
  const lines = await consumeWithJava(broker, output, load.sent + OUTPUT_PARTITIONS)
  const values = lines.map((line) => line.slice(line.indexOf('\t') + 1))
  expect(values.filter((value) => value === 'end')).toHaveLength(OUTPUT_PARTITIONS)
  const results = values
    .filter((value) => value !== 'end')
    .map((value) => JSON.parse(value) as Folded)
  const distinct = new Set(results.map(({ key, count }) => `${key} ${count}`))
  expect({ results: results.length, distinct: distinct.size }).toEqual({
    results: load.sent,
    distinct: load.sent,
  })
  const final = new Map<string, Folded>()
  for (const result of results) {
    if (result.count >= (final.get(result.key)?.count ?? 0)) final.set(result.key, result)
  }
  expect(final).toEqual(load.expected)
}
