import { seededRandom } from '../core/random.ts'
import type { JobOptions } from '../dataflow/job-definition.ts'
import type { JobResult } from '../dataflow/job-executor.ts'
import type { StreamGraph } from '../dataflow/stream-graph.ts'
import type { ConfigurationMap } from '../runtime/configuration.ts'
import type { JobExecution, JobExecutionOptions } from '../runtime/job-execution.ts'
import { createLocalJob } from '../runtime/local-executor.ts'
import { createWorkerJob } from '../runtime/worker-job.ts'

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
    const job = await createWorkerJob({
      ...options,
      module: url,
      jobOptions,
      configuration: this.configurationOf(options),
      random: seededRandom(this.options.seed ?? 1),
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
