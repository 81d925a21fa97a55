import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import { seededRandom } from '../../../src/core/random.ts'
import type { JobExecution } from '../../../src/runtime/job/execution.ts'
import { MiniCluster } from '../../../src/testing/mini-cluster.ts'
import { pause } from '../../run/pause.ts'
import { until } from '../../run/until.ts'
import { type Folded, fold } from './job.ts'
import { expectExact } from './results.ts'

const KEYS = 500
/** Records that come at a time: each checkpoint has some, and the processors are left to what is tested. */
const BATCH = 40
const JOB = new URL('./job.ts', import.meta.url)
const encoder = new TextEncoder()

/**
 * The fold job under load, with its checkpoints on a server: records flow from the start until
 * `finish`, which restores the job from its last checkpoint and compares every result.
 */
export class StoredFold implements AsyncDisposable {
  private readonly folder = mkdtempSync(join(tmpdir(), 'weir-stored-fold-'))
  private readonly expected = new Map<string, Folded>()
  private readonly settings: Readonly<Record<string, string>>
  private readonly jobId: string
  private cluster = new MiniCluster()
  private input!: EmbeddedLog
  private output!: EmbeddedLog
  private producing = Promise.resolve()
  private load = true
  /** The running job. */
  job!: JobExecution

  private constructor(checkpoints: string, jobId: string, settings: Record<string, string>) {
    this.jobId = jobId
    this.settings = {
      'parallelism.default': '2',
      'pipeline.max-parallelism': '32',
      'execution.checkpointing.interval': '100 ms',
      'execution.checkpointing.dir': checkpoints,
      'restart-strategy.type': 'fixed-delay',
      'restart-strategy.fixed-delay.attempts': '100',
      'restart-strategy.fixed-delay.delay': '50 ms',
      ...settings,
    }
  }

  /** Starts load and job; resolves when the first checkpoint is complete. */
  static async start(
    checkpoints: string,
    name: string,
    settings: Record<string, string> = {},
  ): Promise<StoredFold> {
    const jobId = Buffer.from(name.padEnd(16, '.')).toString('hex').slice(0, 32)
    const run = new StoredFold(checkpoints, jobId, settings)
    run.input = await EmbeddedLog.open(join(run.folder, 'in'))
    await run.input.createTopic('ops', { partitions: 2 })
    run.output = await EmbeddedLog.open(join(run.folder, 'out'))
    await run.output.createTopic('results', { partitions: 1 })
    run.producing = run.produce()
    run.job = await run.startJob(false)
    await run.untilCheckpoints(1)
    return run
  }

  /** Checkpoints of the running job that were completed. */
  get completed(): number {
    return this.job.checkpointStatistics?.counts().completed ?? 0
  }

  /** Waits for a number of further completed checkpoints. */
  async untilCheckpoints(more: number): Promise<void> {
    const goal = this.completed + more
    await expect.poll(() => this.completed).toBeGreaterThanOrEqual(goal)
  }

  /** Waits for another checkpoint that fails. */
  async untilFailed(): Promise<void> {
    const failed = (): number => this.job.checkpointStatistics?.counts().failed ?? 0
    const before = failed()
    await until('a checkpoint fails', () => failed() > before)
  }

  /** Waits until a checkpoint is in progress. */
  async untilInProgress(): Promise<void> {
    await expect
      .poll(() => this.job.checkpointStatistics?.counts().in_progress, { interval: 1 })
      .toBeGreaterThan(0)
  }

  /** Ends load and job, continues from the last checkpoint, and compares all results. */
  async finish(): Promise<void> {
    await this.job.cancel()
    this.load = false
    await this.producing
    const last = await this.startJob(true)
    await last.result
    expect(last.checkpointStatistics?.counts().restored).toBeGreaterThan(0)
    await expectExact(join(this.folder, 'out'), this.expected)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.load = false
    await this.producing
    await this.cluster.close()
    await this.input.close()
    await this.output.close()
    rmSync(this.folder, { recursive: true, force: true })
  }

  private async startJob(bounded: boolean): Promise<JobExecution> {
    const options = { input: join(this.folder, 'in'), output: join(this.folder, 'out'), bounded }
    const { jobId, settings } = this
    return await this.cluster.startWorkers(JOB, options, { jobId, configuration: settings })
  }

  private async produce(): Promise<void> {
    const producer = this.input.producer('ops')
    const random = seededRandom(1)
    while (this.load) {
      for (let i = 0; i < BATCH; i++) {
        const operation = { key: `k${random.below(KEYS)}`, amount: random.below(1000) }
        this.expected.set(operation.key, fold(this.expected.get(operation.key), operation))
        producer.send(encoder.encode(operation.key), encoder.encode(`${operation.amount}`), 0)
      }
      await producer.flush()
      await pause(20, 'load comes over time')
    }
    await producer.sync()
  }
}
