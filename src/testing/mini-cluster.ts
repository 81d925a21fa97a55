import {
  aFunction,
  count,
  either,
  flag,
  kindOf,
  name,
  numberIn,
  objectWith,
  recordOf,
  text,
} from '../core/options/kinds.ts'
import { checkArgument, checkOptions, type OptionShape } from '../core/options/shape.ts'
import { seededRandom } from '../core/random.ts'
import type { JobOptions } from '../dataflow/job/definition.ts'
import type { JobResult, StreamGraph } from '../dataflow/stream-graph.ts'
import type { ConfigurationMap } from '../runtime/configuration/keys.ts'
import type { JobExecution, JobExecutionOptions } from '../runtime/job/execution.ts'
import { createLocalJob, GRAPH } from '../runtime/job/local-executor.ts'
import { createWorkerJob } from '../runtime/job/worker-job.ts'

/** Options of a mini cluster, for all its jobs. */
export interface MiniClusterOptions {
  /** Configuration by Flink's keys. @default the heap backend */
  readonly configuration?: ConfigurationMap
  /** Seed of names and jitter. @default 1 */
  readonly seed?: number
}

/** Options of one job. */
export interface MiniClusterJobOptions {
  readonly configuration?: ConfigurationMap
  readonly jobId?: string
  /** Savepoint or checkpoint from which the job starts, a path of checkpoint storage. */
  readonly restoreFrom?: string | number | undefined
  readonly allowNonRestoredState?: boolean | undefined
  readonly coordinators?: JobExecutionOptions['coordinators'] | undefined
  /** Coordinators of the operators that ask a model. */
  readonly models?: JobExecutionOptions['models'] | undefined
  readonly serving?: JobExecutionOptions['serving'] | undefined
}

const CLUSTER: OptionShape<MiniClusterOptions> = { configuration: recordOf(text), seed: numberIn() }
const JOB: OptionShape<MiniClusterJobOptions> = {
  configuration: recordOf(text),
  jobId: name,
  restoreFrom: either(name, count),
  allowNonRestoredState: flag,
  coordinators: objectWith('coordinators by uid'),
  models: aFunction(),
  serving: objectWith('what serves the state of the job'),
}

/**
 * A cluster for tests that runs jobs in this process, in the calling thread or on worker threads. Tests can
 * kill its slots. Close it with `close` or `await using`.
 */
export class MiniCluster implements AsyncDisposable {
  private readonly options: MiniClusterOptions
  private readonly jobs: JobExecution[] = []

  constructor(options: MiniClusterOptions = {}) {
    checkOptions('new MiniCluster', CLUSTER, options)
    this.options = options
  }

  /** Starts a graph with every slot in the calling thread. */
  startLocal(graph: StreamGraph, options: MiniClusterJobOptions = {}): JobExecution {
    checkArgument('cluster.startLocal', 'graph', GRAPH, graph)
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
    checkArgument('cluster.startWorkers', 'url', MODULE, url)
    const job = await createWorkerJob({
      ...options,
      module: url,
      jobOptions,
      configuration: this.configurationOf(options),
      random: seededRandom(this.options.seed ?? 1),
    })
    return this.begin(job)
  }

  /** Runs a graph in the calling thread until it finishes. */
  async run(graph: StreamGraph, options: MiniClusterJobOptions = {}): Promise<JobResult> {
    return await this.startLocal(graph, options).result
  }

  /** Cancels all running jobs. */
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
    checkOptions('a job of a MiniCluster', JOB, options)
    return {
      'state.backend.type': 'heap',
      ...this.options.configuration,
      ...options.configuration,
    }
  }
}

const MODULE = kindOf<URL>(
  'the URL of a module: new URL("./job.ts", import.meta.url)',
  (given) => given instanceof URL,
)
