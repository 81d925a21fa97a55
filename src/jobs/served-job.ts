import nodeModule from 'node:module'
import { TOPICS_PLACE, type TopicsPlace } from '../connectors/topics/place.ts'
import { type Cancel, systemClock } from '../core/clock.ts'
import type { MetricSnapshot } from '../core/metrics.ts'
import {
  aFunction,
  anything,
  count,
  listOf,
  name,
  numberIn,
  objectWith,
  recordOf,
  required,
  text,
  wholeNumber,
} from '../core/options/kinds.ts'
import { checkOptions, nested, type OptionShape } from '../core/options/shape.ts'
import { seededRandom } from '../core/random.ts'
import type { JobOptions } from '../dataflow/job/definition.ts'
import type { AccessControl, AccessShare } from '../http/access/control.ts'
import { httpAccess } from '../http/access/people/http-access.ts'
import { type ConfigurationMap, parseConfiguration } from '../runtime/configuration/keys.ts'
import type { JobExecution, JobExecutionOptions } from '../runtime/job/execution.ts'
import { createWorkerJob, requireNotRunning } from '../runtime/job/worker-job.ts'
import type { SlotThreads } from '../runtime/slot/threads.ts'
import { QueryThreads } from '../serving/threads/query-threads.ts'
import type { QueryWorkers } from '../serving/threads/workers.ts'
import type { ModelReader } from '../wire/model-reader.ts'
import type { AskedModels } from './asked-models.ts'
import { type LastCheckpoint, takeLastCheckpoint } from './last-checkpoint.ts'
import {
  QUERY_ACCESS,
  type QueryAccessOptions,
  queryAccessOf,
  watchQueryAccess,
} from './query-access.ts'
import { JOB_RUN, MODULE } from './start-job.ts'

/** The model of the registry that a job serves. */
export interface ServedModel {
  /** Name in the registry, and of the topic. */
  readonly topic: string
  /** Name of its queryable state. */
  readonly state: string
  /** Place of the topic. */
  readonly place: TopicsPlace
  /** Place of the registry. */
  readonly registry: TopicsPlace
  /** Versions whose rows the job reads and that are not whole. */
  readonly unfinished: () => readonly UnfinishedNumber[]
}

/** A version that is not whole: a publisher writes it, or has ended. */
export interface UnfinishedNumber {
  readonly number: number
  readonly state: 'publishing' | 'incomplete'
}

/** Options of a served job. */
export interface ServedJobOptions<O extends JobOptions> extends QueryAccessOptions {
  /** Module of the job (`defineJob`). */
  readonly module: URL
  readonly jobOptions: O
  /** Keys and values of Flink's configuration. */
  readonly configuration: ConfigurationMap
  readonly jobId?: string
  /** Seeds jitter. */
  readonly seed: number
  /** Query threads, at least 1. @default 1 */
  readonly queryThreads?: number
  /** Bootstrap port of queries; 0 lets the system choose. @default 9069 */
  readonly port?: number
  /** Queryable names of vector state whose live version a coordinator switches. */
  readonly models?: readonly string[]
  /** The model of the registry that the job serves. */
  readonly model?: ServedModel
  readonly coordinators?: JobExecutionOptions['coordinators']
  /** The models that the job asks; ended after the job. */
  readonly askedModels?: AskedModels
  readonly restoreFrom?: string | number
  /** Slot threads of the module that were started before; threads that are not needed are ended. */
  readonly threads?: SlotThreads | undefined
  /** Query threads that were started before; threads that are not needed are ended. */
  readonly queryWorkers?: QueryWorkers | undefined
  readonly allowNonRestoredState?: boolean
  /** Resources of the coordinators, disposed of with the job or when it cannot start. */
  readonly companion?: AsyncDisposable
}

const SERVED_JOB: OptionShape<ServedJobOptions<JobOptions>> = {
  ...QUERY_ACCESS,
  ...JOB_RUN,
  module: required(MODULE),
  jobOptions: required(recordOf(anything())),
  configuration: required(recordOf(text)),
  seed: required(numberIn()),
  queryThreads: count,
  port: wholeNumber({ min: 0, max: 65_535 }),
  models: listOf(name),
  model: nested<ServedModel>({
    topic: required(name),
    state: required(name),
    place: required(nested(TOPICS_PLACE)),
    registry: required(nested(TOPICS_PLACE)),
    unfinished: required(aFunction()),
  }),
  askedModels: objectWith('models, such as new JobModels(...)', 'coordinator', 'list'),
  threads: objectWith('slot threads'),
  queryWorkers: objectWith('query threads'),
  companion: objectWith('an AsyncDisposable'),
}

/**
 * A job on worker threads with the query threads that serve its state. One `weir` process runs one.
 */
export class ServedJob implements AsyncDisposable {
  readonly execution: JobExecution
  readonly queries: QueryThreads
  /** Keys and values of Flink's configuration, as given. */
  readonly configuration: ConfigurationMap
  /** The model of the registry that it serves; undefined if it serves none. */
  readonly model: ServedModel | undefined
  /** The models that the job may ask; undefined where it was started without a repository. */
  readonly askedModels: AskedModels | undefined
  private readonly companion: AsyncDisposable | undefined
  /** The tokens of the query port, for other ports of the same process. */
  readonly access: AccessControl
  private readonly cancelWatch: Cancel
  private lastCheckpoint: Promise<LastCheckpoint> | undefined

  private constructor(
    execution: JobExecution,
    queries: QueryThreads,
    access: AccessShare,
    options: Pick<
      ServedJobOptions<JobOptions>,
      'askedModels' | 'configuration' | 'companion' | 'model'
    > &
      QueryAccessOptions,
  ) {
    this.execution = execution
    this.queries = queries
    this.configuration = options.configuration
    this.companion = options.companion
    this.askedModels = options.askedModels
    this.model = options.model
    this.access = httpAccess(access, systemClock, options.audit)
    this.cancelWatch = watchQueryAccess(options, access, (changed) => {
      queries.replaceAccess(changed)
      this.access.replace(changed)
    })
  }

  /**
   * Opens the query port, then starts the job from the latest checkpoint of its job id.
   * Rejects with JOB_ALREADY_RUNNING when another process runs the job, CONNECTOR_FAILED when the port is taken,
   * INVALID_GRAPH, UNKNOWN_OPTION, and with INVALID_ARGUMENT for a port that other machines could use
   * (`QueryAccessOptions`).
   */
  static async start<O extends JobOptions>(options: ServedJobOptions<O>): Promise<ServedJob> {
    checkOptions('ServedJob.start', SERVED_JOB, options)
    try {
      return await ServedJob.open(options)
    } catch (error) {
      await Promise.all([options.threads?.close(), options.queryWorkers?.close()])
      await options.companion?.[Symbol.asyncDispose]()
      await options.askedModels?.[Symbol.asyncDispose]()
      throw error
    }
  }

  private static async open<O extends JobOptions>(
    options: ServedJobOptions<O>,
  ): Promise<ServedJob> {
    const configuration = parseConfiguration(options.configuration)
    const { jobId } = options
    if (jobId !== undefined) await requireNotRunning(jobId, configuration, systemClock)
    const access = await queryAccessOf(options, configuration.queryTls)
    const queries = await QueryThreads.start({
      threads: options.queryThreads ?? 1,
      threadPorts: configuration.queryPorts,
      limits: configuration.queryLimits,
      hotWeights: configuration.hotWeights,
      ...access,
      workers: options.queryWorkers,
      ...(options.host === undefined ? {} : { host: options.host }),
      ...(options.port === undefined ? {} : { port: options.port }),
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
        models: options.askedModels?.coordinator,
        restoreFrom: options.restoreFrom,
        allowNonRestoredState: options.allowNonRestoredState,
        serving: queries,
        threads: options.threads,
        ...(jobId === undefined ? {} : { jobId }),
      })
      execution.start()
      await Promise.all([options.threads?.close(), options.queryWorkers?.close()])
      nodeModule.flushCompileCache()
      return new ServedJob(execution, queries, access.access, options)
    } catch (error) {
      await queries.close()
      throw error
    }
  }

  /** Bootstrap port, which clients connect to. */
  get port(): number {
    return this.queries.port
  }

  /**
   * Reads the job's state in the calling thread, through shared memory; resolves when the job has
   * started. The first call starts the reader.
   */
  reader(): Promise<ModelReader> {
    return this.queries.localReader()
  }

  /** Metrics of the job, its slots and, below `query.<thread>` and `query.bootstrap`, the query ports. */
  async metrics(): Promise<MetricSnapshot> {
    const [job, queries] = await Promise.all([this.execution.metrics(), this.queries.metrics()])
    const ofThreads = [...queries].flatMap(([thread, metrics]) =>
      Object.entries(metrics).map(([name, value]) => [
        name.replace(/^query\./, `query.${thread}.`),
        value,
      ]),
    )
    return { ...job, ...Object.fromEntries(ofThreads) }
  }

  /**
   * Takes a last checkpoint for the next process, within `execution.checkpointing.shutdown-timeout`; the ports stay
   * open meanwhile. `close` takes it if this was not called.
   */
  takeLastCheckpoint(): Promise<LastCheckpoint> {
    this.lastCheckpoint ??= takeLastCheckpoint(this.execution, systemClock)
    return this.lastCheckpoint
  }

  /** Takes a last checkpoint for the next process if possible, then ends all threads. */
  async close(): Promise<void> {
    const { execution, queries } = this
    this.cancelWatch()
    await this.takeLastCheckpoint()
    await this.companion?.[Symbol.asyncDispose]()
    await execution.suspend()
    await this.askedModels?.[Symbol.asyncDispose]()
    await queries.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
