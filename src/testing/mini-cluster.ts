import { systemClock } from '../core/clock.ts'
import { seededRandom } from '../core/random.ts'
import { buildJob, type JobDefinition, type JobOptions } from '../dataflow/job-definition.ts'
import type { JobResult } from '../dataflow/job-executor.ts'
import type { StreamGraph } from '../dataflow/stream-graph.ts'
import type { ConfigurationMap } from '../runtime/configuration.ts'
import { JobExecution, type JobExecutionOptions } from '../runtime/job-execution.ts'
import { createLocalJob, newJobId, resolveConfiguration } from '../runtime/local-executor.ts'
import { openStorage } from '../runtime/open-storage.ts'
import { WorkerSlot } from '../runtime/worker-slot.ts'

/** What a mini cluster gives every job. */
export interface MiniClusterOptions {
  /** Flink's keys. @default the heap backend */
  readonly configuration?: ConfigurationMap
  /** Seeds names and jitter. @default 1 */
  readonly seed?: number
}

/** What one job may have of its own. */
export interface MiniClusterJobOptions {
  readonly configuration?: ConfigurationMap
  readonly jobId?: string
  /** Savepoint or checkpoint to begin from, a path of checkpoint storage. */
  readonly restoreFrom?: string | undefined
  readonly allowNonRestoredState?: boolean | undefined
  readonly coordinators?: JobExecutionOptions['coordinators'] | undefined
  readonly serving?: JobExecutionOptions['serving'] | undefined
}

/**
 * Runs jobs in this process for tests, in the calling thread or on worker threads, and lets tests
 * kill slots. Close it with `close` or `await using`.
 */
export class MiniCluster implements AsyncDisposable {
  private readonly options: MiniClusterOptions
  private readonly jobs: JobExecution[] = []

  constructor(options: MiniClusterOptions = {}) {
    this.options = options
  }

  /** Starts a graph with every slot in the calling thread. */
  startLocal(graph: StreamGraph, options: MiniClusterJobOptions = {}): JobExecution {
    const job = createLocalJob({
      ...options,
      graph,
      configuration: this.configurationOf(options),
      random: seededRandom(this.options.seed ?? 1),
    })
    return this.begin(job)
  }

  /** Starts the job that a module exports (see `defineJob`) on worker threads. */
  async startWorkers<O extends JobOptions>(
    url: URL,
    jobOptions: O,
    options: MiniClusterJobOptions = {},
  ): Promise<JobExecution> {
    const module = (await import(url.href)) as { default: JobDefinition<O> }
    const configuration = resolveConfiguration(this.configurationOf(options))
    const { parallelism, maxParallelism, checkpoints } = configuration
    const settings = {
      parallelism,
      ...(maxParallelism === undefined ? {} : { maxParallelism }),
    }
    const graph = await buildJob(module.default, jobOptions, settings)
    const { directory } = checkpoints
    const job = new JobExecution({
      ...options,
      jobId: options.jobId ?? newJobId(),
      graph,
      configuration,
      clock: systemClock,
      random: seededRandom(this.options.seed ?? 1),
      startSlot: (slot, listener) =>
        new WorkerSlot(slot, { url: url.href, options: jobOptions, ...settings }, listener),
      ...(directory === undefined
        ? {}
        : { storage: openStorage(directory), storageUrl: directory }),
    })
    return this.begin(job)
  }

  /** Runs a graph in the calling thread until it has finished. */
  async run(graph: StreamGraph, options: MiniClusterJobOptions = {}): Promise<JobResult> {
    return await this.startLocal(graph, options).result
  }

  /** Cancels what still runs. */
  async close(): Promise<void> {
    for (const job of this.jobs) {
      await job.cancel()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  private begin(job: JobExecution): JobExecution {
    this.jobs.push(job)
    job.start()
    return job
  }

  private configurationOf(options: MiniClusterJobOptions): ConfigurationMap {
    return {
      'state.backend.type': 'heap',
      ...this.options.configuration,
      ...options.configuration,
    }
  }
}
