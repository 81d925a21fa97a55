import { KAFKA_CLIENT, type KafkaClientOptions } from '../../connectors/kafka/client/options.ts'
import { WeirError } from '../../core/errors.ts'
import { aFunction, count, name, recordOf, text, wholeNumber } from '../../core/options/kinds.ts'
import { checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import { ALS_MODEL } from '../../models/topic/als-serving-function.ts'
import { SVM_MODEL } from '../../models/topic/linear-serving-function.ts'
import type { ConfigurationMap } from '../../runtime/configuration/keys.ts'
import type { ModelReader } from '../../wire/model-reader.ts'
import type { ServedJob } from '../served-job.ts'
import { dataDirectory } from './data-directory.ts'
import type { AlsLearningJobOptions } from './learning-als.ts'
import type { SvmLearningJobOptions } from './learning-svm.ts'
import type { ServeModelOptions } from './model.ts'

/** Options of a job that serves a model inside the calling process. */
export interface EmbeddedModelOptions {
  /** Folder for log, registry, checkpoints and state. @default '.weir' */
  readonly dataDir?: string
  /** Topic of the model. @default 'als-model', 'svm-model' */
  readonly topic?: string
  /** Kafka with the topics. @default the embedded log of the data folder */
  readonly kafka?: KafkaClientOptions
  /** @default 2 */
  readonly slots?: number
  /** Threads that answer clients in other processes. @default 1 */
  readonly queryThreads?: number
  /** Query port on the loopback interface; 0 lets the system choose. @default 0 */
  readonly port?: number
  /** Keys and values of the configuration; they override those that the job sets. */
  readonly configuration?: ConfigurationMap
  /** Called for every version that goes live. */
  readonly onLive?: (version: number) => void
}

/** Options of a job that serves a model inside the calling process and learns it. */
export interface EmbeddedLearningOptions<O> extends EmbeddedModelOptions {
  /** Topic of observations. @default 'observations' */
  readonly observations?: string
  /** Options of the learning job. */
  readonly learning?: Omit<O, 'observations'>
}

const EMBEDDED: OptionShape<EmbeddedModelOptions> = {
  dataDir: name,
  topic: name,
  kafka: nested(KAFKA_CLIENT),
  slots: count,
  queryThreads: count,
  port: wholeNumber({ min: 0, max: 65_535 }),
  configuration: recordOf(text),
  onLive: aFunction(),
}
/**
 * Serves the ALS model of a topic inside the calling process; follows the registry of its versions.
 * Throws UNKNOWN_TOPIC if no model was published.
 *
 * ```ts
 * await using model = await serveAls({ dataDir: '.weir' })
 * await model.whenLive()
 * const { score } = await model.reader.predict(model.state, '12-U', '7-I')
 * ```
 */
export async function serveAls(options: EmbeddedModelOptions = {}): Promise<EmbeddedModel> {
  checkOptions('serveAls', EMBEDDED, options)
  const { serveAlsJob } = await import('./als.ts')
  return await embed(ALS_MODEL, 'als-model', options, serveAlsJob)
}

/** Serves the linear model of a topic; otherwise as `serveAls`. */
export async function serveSvm(options: EmbeddedModelOptions = {}): Promise<EmbeddedModel> {
  checkOptions('serveSvm', EMBEDDED, options)
  const { serveSvmJob } = await import('./svm.ts')
  return await embed(SVM_MODEL, 'svm-model', options, serveSvmJob)
}

/** Serves the ALS model of a topic as `serveAls`, and learns it from a topic of ratings. */
export async function learnAls(
  options: EmbeddedLearningOptions<AlsLearningJobOptions> = {},
): Promise<EmbeddedModel> {
  const { ALS_LEARNING, learnAlsJob } = await import('./learning-als.ts')
  checkOptions('learnAls', learningOptions(ALS_LEARNING), options)
  const job = { ...options.learning, observations: observationsOf(options) }
  return await embed(ALS_MODEL, 'als-model', options, (served) => learnAlsJob({ ...served, job }))
}

/** Serves the linear model of a topic as `serveSvm`, and learns it from a topic of examples. */
export async function learnSvm(
  options: EmbeddedLearningOptions<SvmLearningJobOptions> & {
    readonly learning: Omit<SvmLearningJobOptions, 'observations'>
  },
): Promise<EmbeddedModel> {
  const { learnSvmJob, SVM_LEARNING } = await import('./learning-svm.ts')
  checkOptions('learnSvm', learningOptions(SVM_LEARNING), options)
  const job = { ...options.learning, observations: observationsOf(options) }
  return await embed(SVM_MODEL, 'svm-model', options, (served) => learnSvmJob({ ...served, job }))
}

function learningOptions<O>(
  job: OptionShape<Omit<O, 'observations'>>,
): OptionShape<EmbeddedLearningOptions<O>> {
  return { ...EMBEDDED, observations: name, learning: nested(job) }
}

function observationsOf({ observations = 'observations' }: { observations?: string }): string {
  return observations
}

async function embed(
  state: string,
  defaultTopic: string,
  options: EmbeddedModelOptions,
  serve: (options: ServeModelOptions) => Promise<ServedJob>,
): Promise<EmbeddedModel> {
  const live = Promise.withResolvers<number>()
  const { kafka, onLive } = options
  const job = await serve({
    data: dataDirectory(options.dataDir ?? '.weir'),
    ...(kafka === undefined ? {} : { place: { kafka } }),
    topic: options.topic ?? defaultTopic,
    slots: options.slots ?? 2,
    queryThreads: options.queryThreads ?? 1,
    port: options.port ?? 0,
    configuration: options.configuration ?? {},
    onLive: (version) => {
      live.resolve(version)
      onLive?.(version)
    },
  })
  job.execution.result.catch(live.reject)
  // A caller that does not wait for a live version sees the failure in the job.
  live.promise.catch(() => {})
  return new EmbeddedModel(state, { job, reader: await job.reader(), live })
}

/** The first version that is live, and how to say that there will be none. */
interface FirstLive {
  readonly promise: Promise<number>
  reject(reason: unknown): void
}

/** A model that a job of the calling process serves. */
export class EmbeddedModel implements AsyncDisposable {
  /** Name of the model's queryable state, the first argument of the reader's methods. */
  readonly state: string
  /** Reads in the calling thread, through shared memory: the interface of `WeirClient`, without a network. */
  readonly reader: ModelReader
  readonly job: ServedJob
  private readonly live: FirstLive

  constructor(
    state: string,
    parts: {
      readonly job: ServedJob
      readonly reader: ModelReader
      readonly live: FirstLive
    },
  ) {
    this.state = state
    this.job = parts.job
    this.reader = parts.reader
    this.live = parts.live
  }

  /** Query port of the job, for clients in other processes. */
  get port(): number {
    return this.job.port
  }

  /** The first version that was live. Rejects with JOB_FAILED, JOB_CANCELED if the job ends before. */
  whenLive(): Promise<number> {
    return this.live.promise
  }

  /** Takes a last checkpoint, then ends the job and its threads. */
  async close(): Promise<void> {
    await this.job.close()
    const message = 'the job was closed before a version was live'
    this.live.reject(new WeirError('JOB_CANCELED', message))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
