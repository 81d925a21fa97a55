import type { EmbeddedLog } from '../connectors/log/embedded-log.ts'
import { hasTopic } from '../connectors/log/topic-config.ts'
import type { Clock } from '../core/clock.ts'
import { murmur3 } from '../core/murmur3.ts'
import { type AlsRowKind, alsKey, encodeFactors } from '../models/als-row.ts'
import {
  encodeMarker,
  type ModelVersionEvent,
  type ModelVersionMarker,
  markerKey,
} from '../models/model-version-marker.ts'

/** Rows to publish, one side after the other. */
export interface PublishableModel {
  /** Floats of a row. */
  readonly dimension: number
  readonly users: number
  readonly items: number
  /** Rows in any order; a vector is used before the next one is asked for. */
  rows(): Iterable<{
    readonly id: string
    readonly kind: AlsRowKind
    readonly vector: Float32Array
  }>
}

/** What is said of the version beside its rows. */
export type VersionFacts = Omit<
  ModelVersionMarker,
  'event' | 'version' | 'dimension' | 'users' | 'items'
>

/** Options of `publishModel`. */
export interface PublishOptions {
  readonly log: EmbeddedLog
  readonly topic: string
  readonly version: number
  readonly facts: VersionFacts
  readonly clock: Clock
  /** Partitions of the topic if it must be created. @default 4 */
  readonly partitions?: number
  readonly onProgress?: (rows: number) => void
}

const encoder = new TextEncoder()
const PROGRESS_EVERY = 50_000

/**
 * Publishes a version into the model topic: `announce`, all rows, then `ready` into every partition,
 * so that a reader which has passed the markers has all rows. Creates the topic, compacted.
 */
export async function publishModel(
  model: PublishableModel,
  options: PublishOptions,
): Promise<void> {
  const { log, topic, version, clock } = options
  if (!hasTopic(log.directory, topic)) {
    await log.createTopic(topic, {
      partitions: options.partitions ?? 4,
      cleanupPolicy: 'compact',
    })
  }
  const { partitions } = log.describe(topic)
  const producer = log.producer(topic)
  const mark = (event: ModelVersionEvent): void => {
    const { dimension, users, items } = model
    const marker = { ...options.facts, event, version, dimension, users, items }
    const key = encoder.encode(markerKey(version))
    for (let partition = 0; partition < partitions; partition++) {
      producer.send(key, encodeMarker(marker), clock.nowMs(), { partition })
    }
  }
  mark('announce')
  let rows = 0
  for (const { id, kind, vector } of model.rows()) {
    const key = encoder.encode(alsKey(id, kind, version))
    const partition = murmur3(encoder.encode(alsKey(id, kind))) % partitions
    producer.send(key, encodeFactors(vector), clock.nowMs(), { partition })
    if (++rows % PROGRESS_EVERY === 0) options.onProgress?.(rows)
    if (!producer.ready()) await producer.whenReady()
  }
  mark('ready')
  await producer.sync()
}
