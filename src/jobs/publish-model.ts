import { EmbeddedLog } from '../connectors/log/embedded-log.ts'
import { LogTopics } from '../connectors/topics/log-topics.ts'
import type { TopicProducer, TopicStore } from '../connectors/topics/topic-store.ts'
import type { Clock } from '../core/clock.ts'
import { murmur3 } from '../core/murmur3.ts'
import { type AlsRowKind, alsKey, encodeFactors } from '../models/als-row.ts'
import {
  encodeMarker,
  type ModelVersionEvent,
  type ModelVersionMarker,
  markerKey,
} from '../models/model-version-marker.ts'
import { PublishedMoments } from '../models/published-moments.ts'
import { createModelTopics } from './model-topics.ts'
import { ratingsHeader } from './row-ratings.ts'

/** A row to publish. */
export interface PublishableRow {
  readonly id: string
  /** A user, an item, or a block of a linear model's weights. */
  readonly kind: AlsRowKind | 'W'
  readonly vector: Float32Array
  /** Ratings that the row was trained on; learning goes on from there. */
  readonly ratings?: number | undefined
}

/** Rows to publish, one side after the other. */
export interface PublishableModel {
  /** Floats of a row. */
  readonly dimension: number
  /** Rows of each kind; where they are counted on the way, what was counted so far. */
  readonly users: number
  readonly items: number
  /** Rows in any order; a vector is used before the next one is asked for. */
  rows(): Iterable<PublishableRow> | AsyncIterable<PublishableRow>
}

/** What is said of the version beside its rows. */
export type VersionFacts = Omit<
  ModelVersionMarker,
  'event' | 'version' | 'dimension' | 'users' | 'items'
>

/** Options of `publishModel`. */
export interface PublishOptions {
  /** Where the topic is: an embedded log, or the topics of any place (`openTopics`). */
  readonly log: EmbeddedLog | TopicStore
  readonly topic: string
  readonly version: number
  readonly facts: VersionFacts
  readonly clock: Clock
  /** Partitions of the topic if it must be created. @default 4 */
  readonly partitions?: number
  /** Kafka only: copies of the topic if it must be created. @default the broker's */
  readonly replicationFactor?: number
  readonly onProgress?: (rows: number) => void
}

const encoder = new TextEncoder()
const PROGRESS_EVERY = 50_000

/**
 * Publishes a version into the model topic: `announce`, all rows, then `ready` into every partition,
 * so that a reader which has passed the markers has all rows. Creates the topics of the model where
 * they are missing.
 */
export async function publishModel(
  model: PublishableModel,
  options: PublishOptions,
): Promise<void> {
  const { log, topic } = options
  await using own = log instanceof EmbeddedLog ? new LogTopics(log.directory) : undefined
  const topics = own ?? (log as TopicStore)
  await createModelTopics(topics, topic, options)
  const { partitions } = await topics.describe(topic)
  const producer = await topics.producer(topic)
  try {
    mark('announce', model, { producer, partitions, options })
    const moments = await sendRows(model, { producer, partitions, options })
    mark('ready', model, { producer, partitions, options }, moments.encode())
    await producer.sync()
  } finally {
    await producer.close()
  }
}

interface PublishContext {
  readonly producer: TopicProducer
  readonly partitions: number
  readonly options: PublishOptions
}

function mark(
  event: ModelVersionEvent,
  model: PublishableModel,
  context: PublishContext,
  more: Pick<ModelVersionMarker, 'rowMoments'> = {},
): void {
  const { producer, partitions, options } = context
  const { dimension, users, items } = model
  const { version, clock, facts } = options
  const shape = { dimension, partitions, users, items }
  const value = encodeMarker({ ...facts, ...more, event, version, ...shape })
  const key = encoder.encode(markerKey(version))
  for (let partition = 0; partition < partitions; partition++) {
    producer.sendRecord(key, value, clock.nowMs(), partition, [])
  }
}

async function sendRows(
  model: PublishableModel,
  { producer, partitions, options }: PublishContext,
): Promise<PublishedMoments> {
  const { version, clock, onProgress } = options
  const moments = new PublishedMoments(model.dimension)
  let rows = 0
  for await (const { id, kind, vector, ratings } of model.rows()) {
    moments.add(kind, vector)
    const key = encoder.encode(alsKey(id, kind, version))
    const partition = murmur3(encoder.encode(alsKey(id, kind))) % partitions
    const headers = ratingsHeader(ratings)
    producer.sendRecord(key, encodeFactors(vector), clock.nowMs(), partition, headers)
    if (++rows % PROGRESS_EVERY === 0) onProgress?.(rows)
    if (!producer.ready()) await producer.whenReady()
  }
  return moments
}
