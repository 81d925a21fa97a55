import { setImmediate } from 'node:timers/promises'
import { EmbeddedLog } from '../../connectors/log/embedded-log.ts'
import { LogTopics } from '../../connectors/topics/log-topics.ts'
import type { TopicProducer, TopicStore } from '../../connectors/topics/store.ts'
import type { Cancel, Clock } from '../../core/clock.ts'
import { isWeirError, messageOf } from '../../core/errors.ts'
import { hashingOf } from '../../core/features/hashing.ts'
import { HIGHEST_VERSION } from '../../core/model-version.ts'
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
  required,
  text,
  wholeNumber,
} from '../../core/options/kinds.ts'
import { CLOCK } from '../../core/options/ports.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import { PublishedMoments } from '../als/published-moments.ts'
import { encodeFactors } from '../als/row.ts'
import { type AlsRowKind, alsKey } from '../als/row-key.ts'
import { HEARTBEAT_MS } from '../registry/publisher.ts'
import { isTrainedOn, type TrainedOn } from '../registry/ranges/trained-on.ts'
import { isLinear } from '../registry/version.ts'
import { encodeMarker, type ModelVersionMarker } from '../registry/version-marker.ts'
import { checkModelTopics } from '../topic/check-topics.ts'
import { Publication } from '../topic/publication.ts'
import { floatsHeader } from '../topic/row-form.ts'
import { rowMemoryHeader } from '../topic/row-memory.ts'
import { rowPartition } from '../topic/row-partition.ts'
import { ratingsHeader } from '../topic/row-ratings.ts'
import { createModelTopics, type ModelTopicsOptions } from '../topic/topics.ts'
import type { ModelRegistry } from '../versions/model-registry.ts'
import { type PublishedVersions, publishedVersions } from '../versions/model-versions.ts'
import { sendMarker } from '../versions/send-marker.ts'
import { clearIncomplete, collectBefore, isTakenOver, requireKept } from './interrupted.ts'
import { checkKeyLength } from './key-length.ts'
import { requireDimensionOf, requireFactorRows, requireHashingOf } from './topic-dimension.ts'
import { chosenVersion, type VersionChoice } from './version-to-publish.ts'

/** A row that can be published. */
export interface PublishableRow {
  readonly id: string
  /** A user, an item, or a block of a linear model's weights. */
  readonly kind: AlsRowKind | 'W'
  readonly vector: Float32Array
  /** Number of ratings that the row was trained on; online learning starts from it. */
  readonly ratings?: number | undefined
  /**
   * What learning keeps beside the weights of a block, [2 range] (`models/linear/online-rule.ts`); of a user or an item
   * its row of variances (`models/als/row-variance.ts`).
   */
  readonly memory?: Float32Array | undefined
}

/** A model that can be published. */
export interface PublishableModel {
  /** Floats of a row. */
  readonly dimension: number
  /** Rows of each kind; if rows are counted while they are read, the count so far. */
  readonly users: number
  readonly items: number
  /** Rows in any order; a vector may be reused for the next row. */
  rows(): Iterable<PublishableRow> | AsyncIterable<PublishableRow>
}

/** Metadata of a version in its markers. */
export type VersionMetadata = Omit<
  ModelVersionMarker,
  'event' | 'version' | 'dimension' | 'users' | 'items' | 'registered' | 'publisher'
>

/** Options of `publishModel`. */
export interface PublishOptions extends VersionChoice {
  /** Place of the topic: an embedded log, or opened topics (`openTopics`). */
  readonly log: EmbeddedLog | TopicStore
  readonly topic: string
  readonly facts: VersionMetadata
  readonly clock: Clock
  /** Partitions of the topic if it is new. @default 4 */
  readonly partitions?: number
  /** Kafka only: copies of the topic if it is new. @default the setting of the brokers */
  readonly replicationFactor?: number
  /**
   * Registers the version: the first one of the model goes live, each other one is a candidate. Undefined for a caller that
   * registers it with more facts.
   */
  readonly registry?: ModelRegistry
  /** Name of the publication (`Publication`), for a caller whose publication ends later. */
  readonly publication?: string
  /** What to do about rows of another length than those of the topic. @default use another topic */
  readonly remedy?: (held: number) => string
  /** Longest row key, `<id>-U`, in bytes: that of the jobs that serve the model. @default 64 */
  readonly maxKeyBytes?: number
  readonly onProgress?: (rows: number) => void
  /** Receives warnings about the settings of the topics (`checkModelTopics`). */
  readonly onWarning?: (warning: string) => void
}

/** The options of a publication, without the facts, which each kind of model has of its own. */
export const PUBLICATION: OptionShape<Omit<PublishOptions, 'facts'>> = {
  version: wholeNumber({ min: 1, max: HIGHEST_VERSION }),
  after: wholeNumber({ min: 0 }),
  overwrite: flag,
  log: required(
    kindOf(
      'an EmbeddedLog, or what openTopics(...) opened',
      (log) => typeof log === 'object' && log !== null,
    ),
  ),
  topic: required(name),
  clock: required(CLOCK),
  partitions: count,
  replicationFactor: count,
  registry: objectWith('a ModelRegistry', 'read', 'execute'),
  publication: name,
  remedy: aFunction(),
  maxKeyBytes: wholeNumber({ min: 1, max: 1024 }),
  onProgress: aFunction(),
  onWarning: aFunction(),
}

/** What a program says of a version besides: how it was trained, and how well. */
export const TRAINING_FACTS = {
  hyperparameters: recordOf(either(text, either(numberIn({ orInfinity: true }), flag))),
  metrics: recordOf(kindOf<number>('a number', (value) => typeof value === 'number')),
  trainedOn: kindOf<TrainedOn>('the files and ranges of a training', isTrainedOn),
}

const PUBLISH: OptionShape<PublishOptions> = {
  ...PUBLICATION,
  facts: required(objectWith('the facts of a version')),
}

const encoder = new TextEncoder()
const PROGRESS_EVERY = 50_000
const PAUSE_EVERY = 8192

/** What of the options is about new topics. */
function topicsOf({ partitions, replicationFactor }: PublishOptions): ModelTopicsOptions {
  return {
    ...(partitions === undefined ? {} : { partitions }),
    ...(replicationFactor === undefined ? {} : { replicationFactor }),
  }
}

/**
 * Publishes a version into the model topic: `announce`, all rows, then `ready` into every partition,
 * so that a reader that has passed the markers has all rows. Creates the topics of the model if they
 * are missing, and deletes what interrupted publications have left. Returns the number of the version. Throws
 * VERSION_EXISTS (`versionToPublish`), DIMENSION_MISMATCH (`requireDimensionOf`, `requireFactorRows`) and KEY_TOO_LONG
 * (`checkKeyLength`); the version is then abandoned. Throws ILLEGAL_STATE if the version was dropped meanwhile.
 */
export async function publishModel(
  model: PublishableModel,
  options: PublishOptions,
): Promise<number> {
  checkOptions('publishModel', PUBLISH, options)
  const { log, topic } = options
  await using own = log instanceof EmbeddedLog ? new LogTopics(log.directory) : undefined
  const topics = own ?? (log as TopicStore)
  await createModelTopics(topics, topic, topicsOf(options))
  for (const warning of await checkModelTopics(topics, topic)) options.onWarning?.(warning)
  const { remedy = () => 'use another topic' } = options
  const published = await publishedVersions(topics, topic)
  const made = model.dimension
  // Rows of factors that are counted while they are read have no count yet.
  const isOfWeights = isLinear(model) && model.items > 0
  if (isOfWeights) {
    await requireDimensionOf(topics, topic, { made, remedy }, published)
    requireHashingOf(topic, hashingOf(options.facts.hyperparameters), published)
  }
  const version = chosenVersion(published, options, `${topic} in ${topics.place}`)
  if (!isOfWeights) requireFactorRows(topic, { version, made }, published)
  const register = await registration(published.ready, options)
  const isRegistered = register !== undefined
  await clear(topics, { version, isRegistered, published }, options)
  const { partitions } = await topics.describe(topic)
  const nextOffset = (await topics.bounds(topic))[0]?.end ?? 0
  const producer = await topics.producer(topic)
  using publication = new Publication()
  const { publication: process = publication.name } = options
  const context = { producer, partitions, version, nextOffset, isRegistered, process, options }
  let ready: ModelVersionMarker
  try {
    ready = await send(model, context)
    await requireKept(topics, topic, { version, nextOffset })
  } catch (error) {
    // What was whole before stays as it is, for a person to decide.
    if (!published.isComplete(version)) await abandon(topics, model, context)
    throw error
  } finally {
    await producer.close()
  }
  // The version is whole. If this fails, the next command that reads the topic registers it.
  await register?.(ready)
  return version
}

/** Deletes what interrupted publications have left; who may not register deletes only what has the version's number. */
async function clear(
  topics: TopicStore,
  found: {
    readonly version: number
    readonly isRegistered: boolean
    readonly published: PublishedVersions
  },
  { registry, topic, clock, onWarning }: PublishOptions,
): Promise<void> {
  const { version, isRegistered, published } = found
  const options = { model: topic, clock, published, onWarning }
  const cleared = isRegistered
    ? await collectBefore(topics, { registry: registry!, ...options })
    : []
  if (cleared.includes(version)) return
  await clearIncomplete(topics, topic, { version, published, clock })
}

/** Sends the markers and the rows; returns the `ready` marker. */
async function send(model: PublishableModel, context: PublishContext): Promise<ModelVersionMarker> {
  const stop = announce(model, context)
  let moments: PublishedMoments
  try {
    moments = await sendRows(model, context)
  } finally {
    stop()
  }
  const ready = sendMarkers({ event: 'ready', ...moments.encode() }, model, context)
  await context.producer.sync()
  return ready
}

/** Announces the version, now and as long as its rows are sent. The returned function ends that. */
function announce(model: PublishableModel, context: PublishContext): Cancel {
  const { process, options } = context
  const { clock } = options
  let cancel: Cancel
  const send = async (): Promise<void> => {
    const publisher = { process, atMs: clock.nowMs() }
    sendMarkers({ event: 'announce', publisher }, model, context)
    // Now, because a source may give no row for a long time.
    await context.producer.sync()
  }
  const again = (): void => {
    cancel = clock.after(HEARTBEAT_MS, again)
    // The producer reports a failure to the rows, too.
    void send().catch(() => {})
  }
  // Throws before a row is sent if the facts fit no marker.
  encodeMarker(markerOf({ event: 'announce' }, model, context))
  again()
  return () => cancel()
}

/**
 * Says in the topic that the version never becomes whole, behind the rows that were sent: jobs drop them. Does nothing where
 * that fails: the error before is reported. Nor where another process publishes the version by now.
 */
async function abandon(
  topics: TopicStore,
  model: PublishableModel,
  context: PublishContext,
): Promise<void> {
  const { producer, version, process, nextOffset, options } = context
  try {
    await producer.sync()
    if (await isTakenOver(topics, options.topic, { version, nextOffset, process })) return
    sendMarkers({ event: 'retire', incomplete: true, rowsLeft: true }, model, context)
    await producer.sync()
  } catch {}
}

/**
 * Registers what the topic has already, which decides what is live, and returns the registration of the version to come.
 * Undefined where nothing is registered: a user of Kafka may be allowed to publish a model, but not to write the registry.
 */
async function registration(
  present: readonly ModelVersionMarker[],
  { registry, topic, onWarning }: PublishOptions,
): Promise<((ready: ModelVersionMarker) => Promise<void>) | undefined> {
  if (registry === undefined) return undefined
  try {
    await registry.adopt(topic, present)
  } catch (error) {
    if (!isWeirError(error, 'ACCESS_DENIED')) throw error
    onWarning?.(
      `the version is not registered, because the registry may not be written (${messageOf(error)}); jobs serve the highest version that is not in a registry`,
    )
    return undefined
  }
  return async (ready) => {
    const others = present.filter(({ version }) => version !== ready.version)
    await registry.adopt(topic, [...others, ready], ready.version)
  }
}

interface PublishContext {
  readonly producer: TopicProducer
  readonly partitions: number
  readonly version: number
  /** End of partition 0 before the publication. */
  readonly nextOffset: number
  readonly isRegistered: boolean
  /** `Publisher.process`. */
  readonly process: string
  readonly options: PublishOptions
}

type MarkerParts = Pick<
  ModelVersionMarker,
  'event' | 'rowMoments' | 'publisher' | 'incomplete' | 'rowsLeft'
>

/** Sends a marker to every partition, and returns it. */
function sendMarkers(
  parts: MarkerParts,
  model: PublishableModel,
  context: PublishContext,
): ModelVersionMarker {
  const { producer, partitions, options } = context
  const marker = markerOf(parts, model, context)
  sendMarker(producer, marker, { partitions, atMs: options.clock.nowMs() })
  return marker
}

function markerOf(
  parts: MarkerParts,
  { dimension, users, items }: PublishableModel,
  { partitions, version, isRegistered, options: { facts } }: PublishContext,
): ModelVersionMarker {
  const whose = isRegistered ? { registered: true } : {}
  return { ...facts, ...parts, version, dimension, partitions, users, items, ...whose }
}

async function sendRows(
  model: PublishableModel,
  { producer, partitions, version, options }: PublishContext,
): Promise<PublishedMoments> {
  const { clock, onProgress } = options
  const moments = new PublishedMoments(model.dimension)
  let rows = 0
  for await (const { id, kind, vector, ratings, memory } of model.rows()) {
    checkKeyLength(id, kind, options.maxKeyBytes)
    moments.add(kind, vector)
    const key = encoder.encode(alsKey(id, kind, version))
    const partition = rowPartition(alsKey(id, kind), partitions)
    const floats = encodeFactors(vector)
    const headers = [
      ...floatsHeader(floats),
      ...ratingsHeader(ratings),
      ...rowMemoryHeader(alsKey(id, kind), memory && encodeFactors(memory)),
    ]
    producer.sendRecord(key, floats, clock.nowMs(), partition, headers)
    rows++
    if (rows % PROGRESS_EVERY === 0) onProgress?.(rows)
    // Rows that are made without waiting must not keep signals and timers from this thread.
    if (rows % PAUSE_EVERY === 0) await setImmediate()
    if (!producer.ready()) await producer.whenReady()
  }
  return moments
}
