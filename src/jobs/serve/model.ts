import { openTopics } from '../../connectors/topics/open.ts'
import type { TopicsPlace } from '../../connectors/topics/place.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { systemClock } from '../../core/clock.ts'
import { isWeirError, messageOf, WeirError } from '../../core/errors.ts'
import { classParameters } from '../../core/features/classes.ts'
import { hashingParameters } from '../../core/features/hashing.ts'
import { BackgroundWork } from '../../core/lifetime/background-work.ts'
import { ResourceStack } from '../../core/lifetime/resource-stack.ts'
import { encodeTerms, implicitTerms } from '../../models/als/implicit-terms.ts'
import { trainedWith } from '../../models/linear/trained-with.ts'
import { dimensionOfTopic } from '../../models/publish/topic-dimension.ts'
import {
  isLinear,
  liveVersionOf,
  type RegisteredVersion,
  versionsOf,
} from '../../models/registry/version.ts'
import type { ModelVersionMarker } from '../../models/registry/version-marker.ts'
import { MODEL_ROWS_UID } from '../../models/topic/operator.ts'
import type { VersionDimensions } from '../../models/topic/rows-operator.ts'
import {
  VersionCoordinator,
  type VersionCoordinatorOptions,
} from '../../models/topic/version-coordinator.ts'
import { ModelRegistry } from '../../models/versions/model-registry.ts'
import { type ConfigurationMap, parseConfiguration } from '../../runtime/configuration/keys.ts'
import { requireNotRunning } from '../../runtime/job/worker-job.ts'
import type { OperatorCoordinators } from '../../runtime/protocol/operator-coordinator.ts'
import type { SlotThreads } from '../../runtime/slot/threads.ts'
import type { QueryThreads } from '../../serving/threads/query-threads.ts'
import type { QueryWorkers } from '../../serving/threads/workers.ts'
import { type QueryAccessOptions, requireSettings } from '../query-access.ts'
import { ServedJob } from '../served-job.ts'
import { AbandonedPublications } from './abandoned-publications.ts'
import type { DataDirectory } from './data-directory.ts'
import { followRegistry } from './follow-registry.ts'
import { jobIdOf } from './job-id.ts'
import { registryPlace } from './registry-place.ts'

/** Receiver of the switch to a version. */
export type OnVersionLive = (
  version: number,
  marker: ModelVersionMarker,
  /** Rows of the version that the slots hold; undefined while they restore them. */
  rows: number | undefined,
) => void

/** Options of `serveModel`. */
export interface ServeModelOptions {
  readonly data: DataDirectory
  /** Place of the model topic. @default the embedded log of the data folder */
  readonly place?: TopicsPlace
  readonly topic: string
  /** Floats of a row. @default read from the topic */
  readonly dimension?: number
  /** Longest row key in bytes. @default that of the job */
  readonly maxKeyBytes?: number
  readonly slots: number
  readonly queryThreads: number
  readonly port: number
  /** @default the port listens on the loopback interface, for everyone */
  readonly access?: QueryAccessOptions
  readonly configuration: ConfigurationMap
  /** @default one that follows from the topic, so that the job finds its checkpoints */
  readonly jobId?: string
  readonly onLive: OnVersionLive
  readonly onDropped?: VersionCoordinatorOptions['onDropped']
  /** Receives warnings, such as that the registry of the model is gone. */
  readonly onWarning?: (warning: string) => void
  /** Slot threads that were started ahead. */
  readonly threads?: SlotThreads
  /** Query threads that were started ahead. */
  readonly queryWorkers?: QueryWorkers
  /** Further coordinators of the job's operators, by uid. */
  readonly coordinators?: OperatorCoordinators
  /** Called with the coordinator of the model's versions before the job starts. */
  readonly onVersions?: (versions: VersionCoordinator) => void
  /** Called with the versions of the model in the registry, before the job starts and with each change. */
  readonly onRegistry?: (versions: readonly RegisteredVersion[]) => void
  /** Resources that end before the job does. */
  readonly companion?: AsyncDisposable
}

/** A job that serves one kind of model. */
export interface ModelJob<O extends Readonly<Record<string, unknown>>> {
  /** `als-serving` */
  readonly name: string
  readonly module: URL
  /** Name of the model's queryable state. */
  readonly state: string
  /** Options of the job for rows of `floats` floats, and of other lengths in the versions that `dimensions` names. */
  options(place: TopicsPlace, topic: string, floats: number, dimensions: VersionDimensions): O
}

/**
 * Starts a job that serves the model of a topic, with its query threads. The job continues from its
 * latest checkpoint. Throws as `requireSettings`, and then UNKNOWN_TOPIC if no model was published.
 */
export async function serveModel<O extends Readonly<Record<string, unknown>>>(
  model: ModelJob<O>,
  options: ServeModelOptions,
): Promise<ServedJob> {
  const { data } = options
  const configuration = configurationOf(options)
  await requireSettings(configuration, options.access)
  const { jobOptions, partitions, jobName } = await modelTopicOf(model, options)
  const started = Promise.withResolvers<ServedJob>()
  const place = options.place ?? { logDirectory: data.log }
  const registry = registryPlace(place, data.root)
  const records = new BackgroundWork(systemClock)
  const coordinator = new VersionCoordinator({
    model: 0,
    partitions,
    clock: systemClock,
    onLive: (version, marker) => {
      records.add(recordServed(version, registry, options))
      void started.promise.then(({ queries }) =>
        options.onLive(version, marker, queries.rowCount(model.state, version)),
      )
    },
    onReady: (marker) => {
      void started.promise.then(({ queries }) => sendFacts(queries, model.state, marker))
    },
    onRetired: (version) => {
      void started.promise.then(({ queries }) => queries.versionRetired(model.state, version))
    },
    onTextTaken: (partition, offset) =>
      options.onWarning?.(
        `the record at ${partition}:${offset} of ${options.topic} is read as a text row, though it has the length of a row of floats; floats that are to be read as such need the record header f32`,
      ),
    onWaiting: (version) =>
      options.onWarning?.(
        `version ${version} of ${options.topic} is published, not promoted, and no version is live: "weir model promote ${version} --model ${options.topic} --golden FILE" makes it live`,
      ),
    onRegistryMissing: (live) => options.onWarning?.(registryMissing(options.topic, live)),
    ...(options.onDropped === undefined ? {} : { onDropped: options.onDropped }),
  })
  options.onVersions?.(coordinator)
  const companion = new ResourceStack()
  companion.use(records)
  companion.use(
    await followRegistry(registry, (state) => {
      coordinator.setDesired(state.models.get(options.topic))
      options.onRegistry?.(versionsOf(state, options.topic))
    }),
  )
  const abandoned = new AbandonedPublications({
    versions: coordinator,
    place,
    topic: options.topic,
    registered: () => registeredVersions(registry, options.topic),
    clock: systemClock,
    ...(options.onWarning === undefined ? {} : { onWarning: options.onWarning }),
  })
  companion.use(abandoned)
  if (options.companion !== undefined) companion.use(options.companion)
  const job = await ServedJob.start({
    companion,
    module: model.module,
    jobOptions,
    configuration,
    jobId: options.jobId ?? jobIdOf(jobName),
    seed: process.pid,
    queryThreads: options.queryThreads,
    ...options.access,
    port: options.port,
    models: [model.state],
    model: {
      topic: options.topic,
      state: model.state,
      place,
      registry,
      unfinished: () => abandoned.list(),
    },
    coordinators: {
      ...options.coordinators,
      [MODEL_ROWS_UID]: coordinator,
    },
    threads: options.threads,
    queryWorkers: options.queryWorkers,
  })
  abandoned.start()
  started.resolve(job)
  return job
}

/** Sends clients what they must know of a version to understand its answers, or to make a row of it. */
function sendFacts(queries: QueryThreads, state: string, marker: ModelVersionMarker): void {
  const { version, hyperparameters } = marker
  if (isLinear(marker)) {
    const trained = trainedWith(hyperparameters)
    const { labels = { positive: 1, negative: -1 } } = trained
    const hashing = hashingParameters(trained.hashing)
    const classes = classParameters(trained.classes)
    queries.versionLabelled(state, { version, ...labels, ...hashing, ...classes })
    return
  }
  const terms = implicitTerms(marker)
  if (terms !== undefined) queries.versionTrained(state, { version, ...encodeTerms(terms) })
}

/** The configuration of a job: that of the options over the defaults of jobs that serve models. */
function configurationOf({ slots, data, configuration }: ServeModelOptions): ConfigurationMap {
  return {
    'parallelism.default': String(slots),
    'execution.checkpointing.dir': data.checkpoints,
    'execution.checkpointing.interval': '10 s',
    'state.backend.directory': data.state,
    ...configuration,
  }
}

/**
 * Checks what can refuse the start of a job before the start changes anything: the settings, that the model topic exists,
 * and that no other process runs the job. Throws as `requireSettings`, UNKNOWN_TOPIC, JOB_ALREADY_RUNNING.
 */
export async function requireStartable<O extends Readonly<Record<string, unknown>>>(
  model: ModelJob<O>,
  options: ServeModelOptions,
): Promise<void> {
  const configuration = configurationOf(options)
  await requireSettings(configuration, options.access)
  const { topic, place = { logDirectory: options.data.log } } = options
  await using topics = await openTopics(place)
  await requireModelTopic(topics, topic)
  const jobId = options.jobId ?? jobIdOf(await jobNameOf(topics, model, { place, topic }))
  await requireNotRunning(jobId, parseConfiguration(configuration), systemClock)
}

/** Says in the registry that a job serves the version, for who promoted it. */
async function recordServed(
  number: number,
  place: TopicsPlace,
  { topic: name, onWarning }: Pick<ServeModelOptions, 'topic' | 'onWarning'>,
): Promise<void> {
  const registry = new ModelRegistry({ place, clock: systemClock })
  try {
    // A model without a registry stays without one.
    if (!(await registry.read()).models.has(name)) return
    const atMs = systemClock.nowMs()
    await registry.execute({ kind: 'record-served', name, number, atMs })
  } catch (error) {
    onWarning?.(
      `version ${number} of ${name} is served, but the registry does not know it (${messageOf(error)}): "weir model promote" says that no job serves it`,
    )
  }
}

/** Numbers of the versions that the registry has and that are not retired. */
async function registeredVersions(place: TopicsPlace, model: string): Promise<ReadonlySet<number>> {
  const state = await new ModelRegistry({ place, clock: systemClock }).read()
  const present = versionsOf(state, model).filter((version) => version.state !== 'retired')
  return new Set(present.map(({ number }) => number))
}

function registryMissing(topic: string, live: number): string {
  const served =
    live === 0
      ? 'no version is served'
      : `version ${live} stays live, as in the checkpoint of the job`
  return `the registry does not have ${topic}, but versions of it were registered: ${served}. Bring the registry back from a backup, or name the live version: weir model promote N --model ${topic} --force "the registry was lost"`
}

/** The parts of a job's start that depend on the model topic. Throws UNKNOWN_TOPIC. */
async function modelTopicOf<O extends Readonly<Record<string, unknown>>>(
  model: ModelJob<O>,
  options: ServeModelOptions,
): Promise<{
  readonly jobOptions: O
  readonly partitions: number
  readonly jobName: string
}> {
  const { topic, dimension, maxKeyBytes, place = { logDirectory: options.data.log } } = options
  await using topics = await openTopics(place)
  await requireModelTopic(topics, topic)
  await topics.dropAbandoned?.(topic)
  const registry = registryPlace(place, options.data.root)
  const registered = await registeredDimensions(registry, topic)
  const floats = dimension ?? registered.live ?? (await dimensionOfTopic(topics, topic))
  const { partitions } = await topics.describe(topic)
  const jobName = await jobNameOf(topics, model, { place, topic })
  const keys = maxKeyBytes === undefined ? {} : { maxKeyBytes }
  const others = Object.entries(registered.all).filter(([, held]) => held !== floats)
  const made = model.options(place, topic, floats, Object.fromEntries(others))
  return { jobOptions: { ...made, ...keys }, partitions, jobName }
}

/**
 * The name of the job. A topic of Kafka that was deleted and created again begins without the old checkpoints. In a data
 * folder they are found by the topic's name alone, as in earlier builds, and the sources compare its id.
 */
async function jobNameOf(
  topics: TopicStore,
  { name }: Pick<ModelJob<never>, 'name'>,
  { place, topic }: { readonly place: TopicsPlace; readonly topic: string },
): Promise<string> {
  const suffix = place.kafka === undefined ? '' : `/${(await topics.identity(topic)).id}`
  return `${name}/${topic}${suffix}`
}

/**
 * Floats of a row of the live version and of each that is not retired; of the live one undefined where no registry has one.
 * Nothing is known where the registry cannot be read.
 */
async function registeredDimensions(
  place: TopicsPlace,
  model: string,
): Promise<{ readonly live?: number | undefined; readonly all: VersionDimensions }> {
  try {
    const state = await new ModelRegistry({ place, clock: systemClock }).read()
    const present = versionsOf(state, model).filter((version) => version.state !== 'retired')
    const all = Object.fromEntries(present.map(({ number, dimension }) => [number, dimension]))
    return { live: liveVersionOf(state, model)?.dimension, all }
  } catch (error) {
    if (isWeirError(error)) return { all: {} }
    throw error
  }
}

async function requireModelTopic(topics: TopicStore, topic: string): Promise<void> {
  if (await topics.has(topic)) return
  throw new WeirError(
    'UNKNOWN_TOPIC',
    `there is no model topic "${topic}" in ${topics.place}; publish one with "weir train" or "weir model load"`,
  )
}
