import { flushCompileCache } from 'node:module'
import { systemClock } from '../core/clock.ts'
import type { MetricSnapshot } from '../core/metrics.ts'
import { seededRandom } from '../core/random.ts'
import type { JobOptions } from '../dataflow/job-definition.ts'
import { type ConfigurationMap, parseConfiguration } from '../runtime/configuration.ts'
import type { JobExecution, JobExecutionOptions } from '../runtime/job-execution.ts'
import type { SlotThreads } from '../runtime/slot-threads.ts'
import { createWorkerJob } from '../runtime/worker-job.ts'
import { QueryThreads } from '../serving/query-threads.ts'
import type { QueryWorkers } from '../serving/query-workers.ts'

/** What a served job is started with. */
export interface ServedJobOptions<O extends JobOptions> {
  /** Module of the job (`defineJob`). */
  readonly module: URL
  readonly jobOptions: O
  /** Flink's keys. */
  readonly configuration: ConfigurationMap
  readonly jobId?: string
  /** Seeds jitter. */
  readonly seed: number
  /** Query threads, at least 1. @default 1 */
  readonly queryThreads?: number
  /** @default '127.0.0.1' */
  readonly host?: string
  /** Bootstrap port of queries; 0 lets the system choose. @default 9069 */
  readonly port?: number
  readonly token?: string
  /** Queryable names of vector state whose live version a coordinator switches. */
  readonly models?: readonly string[]
  readonly coordinators?: JobExecutionOptions['coordinators']
  readonly restoreFrom?: string
  /** Threads of the module's slots that were started before; ended if they are not needed. */
  readonly threads?: SlotThreads | undefined
  /** Query threads that were started before, likewise. */
  readonly queryWorkers?: QueryWorkers | undefined
  readonly allowNonRestoredState?: boolean
  /** Ended with the job, or when it cannot start: what was opened for its coordinators. */
  readonly companion?: AsyncDisposable
}

/**
 * A job on worker threads together with the query threads that serve its state: what one `weir`
 * process runs.
 */
export class ServedJob implements AsyncDisposable {
  readonly execution: JobExecution
  readonly queries: QueryThreads
  private readonly companion: AsyncDisposable | undefined

  private constructor(
    execution: JobExecution,
    queries: QueryThreads,
    companion: AsyncDisposable | undefined,
  ) {
    this.execution = execution
    this.queries = queries
    this.companion = companion
  }

  /**
   * Opens the query port, then starts the job. It goes on from the latest checkpoint of its job id.
   * Rejects with CONNECTOR_FAILED when the port is taken, INVALID_GRAPH, UNKNOWN_OPTION.
   */
  static async start<O extends JobOptions>(options: ServedJobOptions<O>): Promise<ServedJob> {
    const configuration = parseConfiguration(options.configuration)
    const queries = await QueryThreads.start({
      threads: options.queryThreads ?? 1,
      threadPorts: configuration.queryPorts,
      workers: options.queryWorkers,
      ...(options.host === undefined ? {} : { host: options.host }),
      ...(options.port === undefined ? {} : { port: options.port }),
      ...(options.token === undefined ? {} : { token: options.token }),
      ...(options.models === undefined ? {} : { models: options.models }),
    })
    try {
      const execution = await createWorkerJob({
        module: options.module,
        jobOptions: options.jobOptions,
        configuration,
        clock: systemClock,
        random: seededRandom(options.seed),
        coordinators: options.coordinators,
        restoreFrom: options.restoreFrom,
        allowNonRestoredState: options.allowNonRestoredState,
        serving: queries,
        threads: options.threads,
        ...(options.jobId === undefined ? {} : { jobId: options.jobId }),
      })
      execution.start()
      await Promise.all([options.threads?.close(), options.queryWorkers?.close()])
      flushCompileCache()
      return new ServedJob(execution, queries, options.companion)
    } catch (error) {
      await Promise.all([queries.close(), options.threads?.close()])
      await options.companion?.[Symbol.asyncDispose]()
      throw error
    }
  }

  /** Port that clients connect to. */
  get port(): number {
    return this.queries.port
  }

  /** Metrics of the job, its slots and, below `query.<thread>`, the query threads. */
  async metrics(): Promise<MetricSnapshot> {
    const [job, queries] = await Promise.all([this.execution.metrics(), this.queries.metrics()])
    const ofThreads = queries.flatMap((metrics, thread) =>
      Object.entries(metrics).map(([name, value]) => [
        name.replace(/^query\./, `query.${thread}.`),
        value,
      ]),
    )
    return { ...job, ...Object.fromEntries(ofThreads) }
  }

  /** Takes a last checkpoint if it can, leaves it for the next process, and ends all threads. */
  async close(): Promise<void> {
    const { execution, queries } = this
    try {
      if (execution.status === 'RUNNING') await execution.triggerCheckpoint()
    } catch {
      // Without it the next process goes on from an older checkpoint and replays more of the log.
    }
    await this.companion?.[Symbol.asyncDispose]()
    await execution.suspend()
    await queries.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
