import { isWatchDue, type LookRhythm, nextLookMs } from '../connectors/log/look-rhythm.ts'
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
  /**
   * Time between two looks, ms. @default 20 for a log folder where the system does not tell of
   * changes, 250 for Kafka and where it does
   */
  readonly intervalMs?: number
  /** Called with the registry whenever it changed; never while nothing was written to it. */
  readonly onChange: (state: RegistryState) => void
  /** A look failed; the next one comes in time. */
  readonly onError?: (error: unknown) => void
}

const LOG_LOOKS: LookRhythm = { firstMs: 20, lastMs: 20, watchedMs: 250 }
const KAFKA_LOOKS_MS = 250

/**
 * Follows a model registry: looks whether its topic grew, which costs one small read, and folds it
 * anew when it did. While the system tells of changes it looks at once then and rarely otherwise. It
 * needs no lock, so any number of jobs follow one registry.
 */
export class RegistryWatch {
  private readonly options: RegistryWatchOptions
  private readonly looks: LookRhythm
  private topics: TopicStore | undefined
  private cancel: Cancel | undefined
  /** Ends the watch; undefined while nothing tells of changes. */
  private unwatch: Cancel | undefined
  private delayMs: number | undefined
  private seenEnd = 0
  private isClosed = false
  private looking: Promise<void> = Promise.resolve()

  constructor(options: RegistryWatchOptions) {
    this.options = options
    this.looks = rhythmOf(options)
  }

  /** Begins; resolves after the first look. */
  async start(): Promise<void> {
    await this.look()
  }

  private async look(): Promise<void> {
    this.looking = this.changes().catch((error: unknown) => this.options.onError?.(error))
    await this.looking
    if (!this.isClosed) this.schedule()
  }

  private schedule(): void {
    const delayMs = nextLookMs(this.looks, this.delayMs, this.unwatch !== undefined)
    this.delayMs = delayMs
    this.cancel = this.options.clock.after(delayMs, () => {
      this.cancel = undefined
      if (isWatchDue(this.looks, delayMs)) {
        this.unwatch ??= this.topics?.watch?.(REGISTRY_TOPIC, () => this.onChange())
      }
      void this.look()
    })
  }

  /** What is watched may be another file from now on: the next quiet look watches again. */
  private onChange(): void {
    if (this.unwatch === undefined) return
    this.endWatch()
    this.delayMs = undefined
    // A look that is under way may have missed it, and goes on to the next in time.
    if (this.cancel === undefined) return
    this.cancel()
    this.cancel = undefined
    void this.look()
  }

  private endWatch(): void {
    this.unwatch?.()
    this.unwatch = undefined
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
    this.endWatch()
    await this.looking
    await this.topics?.[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function rhythmOf({ intervalMs, place }: RegistryWatchOptions): LookRhythm {
  if (intervalMs === undefined && place.kafka === undefined) return LOG_LOOKS
  const always = intervalMs ?? KAFKA_LOOKS_MS
  return { firstMs: always, lastMs: always, watchedMs: always }
}
