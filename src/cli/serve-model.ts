import { createHash } from 'node:crypto'
import { openTopics, type TopicsPlace } from '../connectors/topics/open-topics.ts'
import type { TopicStore } from '../connectors/topics/topic-store.ts'
import { systemClock } from '../core/clock.ts'
import { WeirError } from '../core/errors.ts'
import { ServedJob } from '../jobmanager/served-job.ts'
import {
  VersionCoordinator,
  type VersionCoordinatorOptions,
} from '../jobmanager/version-coordinator.ts'
import { MODEL_ROWS_UID } from '../jobs/als-serving.ts'
import type { ConfigurationMap } from '../runtime/configuration.ts'
import type { OperatorCoordinators } from '../runtime/operator-coordinator.ts'
import type { SlotThreads } from '../runtime/slot-threads.ts'
import type { QueryWorkers } from '../serving/query-workers.ts'
import type { DataDirectory } from './data-directory.ts'
import { followRegistry } from './follow-registry.ts'
import { registryPlace } from './model-registry-flags.ts'
import { dimensionOfTopic } from './model-topic-dimension.ts'

/** How a job that serves a model is started from the command line. */
export interface ServeModelOptions {
  readonly data: DataDirectory
  /** Where the model topic is. @default the embedded log of the data folder */
  readonly place?: TopicsPlace
  readonly topic: string
  /** Floats of a row; read from the topic when missing. */
  readonly dimension?: number
  readonly slots: number
  readonly queryThreads: number
  readonly host: string
  readonly port: number
  readonly token?: string
  readonly configuration: ConfigurationMap
  readonly onLive: NonNullable<VersionCoordinatorOptions['onLive']>
  readonly onDropped?: VersionCoordinatorOptions['onDropped']
  /** Threads for the slots that were started before. */
  readonly threads?: SlotThreads
  /** Query threads that were started before. */
  readonly queryWorkers?: QueryWorkers
  /** Further coordinators of the job's operators, by uid. */
  readonly coordinators?: OperatorCoordinators
  /** Coordinators that stand before the one of versions, given it and the topic's partitions. */
  readonly around?: (versions: VersionCoordinator, partitions: number) => OperatorCoordinators
}

/** The job that serves a kind of model. */
export interface ModelJob<O extends Readonly<Record<string, unknown>>> {
  /** `als-serving` */
  readonly name: string
  readonly module: URL
  /** Queryable state of the model. */
  readonly state: string
  /** Options of the job whose rows have so many floats. */
  options(place: TopicsPlace, topic: string, floats: number): O
}

/**
 * Starts a job that serves the model of a topic with its query threads; it goes on from its latest
 * checkpoint. Throws UNKNOWN_TOPIC when no model was published.
 */
export async function serveModel<O extends Readonly<Record<string, unknown>>>(
  model: ModelJob<O>,
  options: ServeModelOptions,
): Promise<ServedJob> {
  const { data } = options
  const { jobOptions, partitions, jobName } = await modelTopicOf(model, options)
  const coordinator = new VersionCoordinator({
    model: 0,
    partitions,
    clock: systemClock,
    onLive: options.onLive,
    ...(options.onDropped === undefined ? {} : { onDropped: options.onDropped }),
  })
  const registry = registryPlace(options.place ?? { logDirectory: data.log }, data.root)
  return await ServedJob.start({
    companion: await followRegistry(coordinator, registry, options.topic),
    module: model.module,
    jobOptions,
    configuration: {
      'parallelism.default': String(options.slots),
      'execution.checkpointing.dir': data.checkpoints,
      'execution.checkpointing.interval': '10 s',
      'state.backend.directory': data.state,
      ...options.configuration,
    },
    jobId: jobIdOf(jobName),
    seed: process.pid,
    queryThreads: options.queryThreads,
    host: options.host,
    port: options.port,
    models: [model.state],
    coordinators: {
      ...options.coordinators,
      [MODEL_ROWS_UID]: coordinator,
      ...options.around?.(coordinator, partitions),
    },
    threads: options.threads,
    queryWorkers: options.queryWorkers,
    ...(options.token === undefined ? {} : { token: options.token }),
  })
}

/** Looks at the model topic: what the job must be told of it. Throws UNKNOWN_TOPIC. */
async function modelTopicOf<O extends Readonly<Record<string, unknown>>>(
  model: ModelJob<O>,
  options: ServeModelOptions,
): Promise<{
  readonly jobOptions: O
  readonly partitions: number
  readonly jobName: string
}> {
  const { topic, dimension, place = { logDirectory: options.data.log } } = options
  await using topics = await openTopics(place)
  await requireModelTopic(topics, topic)
  const floats = dimension ?? (await dimensionOfTopic(topics, topic))
  const { partitions } = await topics.describe(topic)
  // A topic that was created anew is another one: offsets in old checkpoints mean nothing in it.
  const identity = await topics.identity(topic)
  const jobName = `${model.name}/${topic}${identity === '' ? '' : `/${identity}`}`
  return { jobOptions: model.options(place, topic, floats), partitions, jobName }
}

async function requireModelTopic(topics: TopicStore, topic: string): Promise<void> {
  if (await topics.has(topic)) return
  throw new WeirError(
    'UNKNOWN_TOPIC',
    `there is no model topic "${topic}" in ${topics.place}; publish one with "weir train" or "weir model load"`,
  )
}

/** The job id of a name: the same at every start, so that the job finds its checkpoints again. */
export function jobIdOf(name: string): string {
  return createHash('md5').update(name).digest('hex')
}
