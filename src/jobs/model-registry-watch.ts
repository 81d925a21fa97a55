import { openTopics, type TopicsPlace } from '../connectors/topics/open-topics.ts'
import type { TopicStore } from '../connectors/topics/topic-store.ts'
import type { Cancel, Clock } from '../core/clock.ts'
import { foldRegistry } from '../models/registry-format.ts'
import type { RegistryState } from '../models/registry-version.ts'
import { REGISTRY_TOPIC, recordsOf } from './model-registry.ts'

/** Options of a `RegistryWatch`. */
export interface RegistryWatchOptions {
  readonly place: TopicsPlace
  readonly clock: Clock
  /** Time between two looks, ms. @default 20 for a log folder, 250 for Kafka */
  readonly intervalMs?: number
  /** Called with the registry whenever it changed; never while nothing was written to it. */
  readonly onChange: (state: RegistryState) => void
  /** A look failed; the next one comes in time. */
  readonly onError?: (error: unknown) => void
}

/**
 * Follows a model registry: looks whether its topic grew, which costs one small read, and folds it
 * anew when it did. It needs no lock, so any number of jobs follow one registry.
 */
export class RegistryWatch {
  private readonly options: RegistryWatchOptions
  private topics: TopicStore | undefined
  private cancel: Cancel | undefined
  private seenEnd = 0
  private isClosed = false
  private looking: Promise<void> = Promise.resolve()

  constructor(options: RegistryWatchOptions) {
    this.options = options
  }

  /** Begins; resolves after the first look. */
  async start(): Promise<void> {
    await this.look()
  }

  private async look(): Promise<void> {
    const { clock, place, intervalMs } = this.options
    this.looking = this.changes().catch((error: unknown) => this.options.onError?.(error))
    await this.looking
    if (this.isClosed) return
    const interval = intervalMs ?? (place.kafka === undefined ? 20 : 250)
    this.cancel = clock.after(interval, () => void this.look())
  }

  private async changes(): Promise<void> {
    this.topics ??= await openTopics(this.options.place)
    if (!(await this.topics.has(REGISTRY_TOPIC))) return
    const [bounds] = await this.topics.bounds(REGISTRY_TOPIC)
    const end = bounds?.end ?? 0
    if (end === this.seenEnd) return
    const records = await recordsOf(this.topics)
    this.seenEnd = end
    if (!this.isClosed && records.length > 0) this.options.onChange(foldRegistry(records))
  }

  /** Ends; idempotent. */
  async close(): Promise<void> {
    if (this.isClosed) return
    this.isClosed = true
    this.cancel?.()
    await this.looking
    await this.topics?.[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
