import { isWatchDue, nextPollMs, type PollRhythm } from '../../connectors/log/poll-rhythm.ts'
import { openTopics } from '../../connectors/topics/open.ts'
import type { TopicsPlace } from '../../connectors/topics/place.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import type { Cancel, Clock } from '../../core/clock.ts'
import { foldRegistry } from '../registry/format.ts'
import type { RegistryState } from '../registry/version.ts'
import { REGISTRY_TOPIC, recordsOf } from './model-registry.ts'

/** Options of a `RegistryWatch`. */
export interface RegistryWatchOptions {
  readonly place: TopicsPlace
  readonly clock: Clock
  /**
   * Time between two reads, ms. @default 250 for Kafka and for a log folder whose changes the system
   * reports, else 20
   */
  readonly intervalMs?: number
  /** Called with the registry after each change; not called before the first write. */
  readonly onChange: (state: RegistryState) => void
  /** Called when a read failed; the next read follows as usual. */
  readonly onError?: (error: unknown) => void
}

const LOG_POLLS: PollRhythm = { firstMs: 20, lastMs: 20, watchedMs: 250 }
const KAFKA_LOOKS_MS = 250

/**
 * Follows a model registry. Each look checks whether the topic has grown, which is one small read, and
 * folds the topic again if it has. If the system reports file changes, a change triggers a look at
 * once, and the periodic looks are rare. No lock is needed, so any number of jobs can follow.
 */
export class RegistryWatch {
  private readonly options: RegistryWatchOptions
  private readonly looks: PollRhythm
  private topics: TopicStore | undefined
  private cancel: Cancel | undefined
  /** Stops watching the file; undefined while it is not watched. */
  private unwatch: Cancel | undefined
  private delayMs: number | undefined
  private seenEnd = 0
  private isClosed = false
  private looking: Promise<void> = Promise.resolve()

  constructor(options: RegistryWatchOptions) {
    this.options = options
    this.looks = rhythmOf(options)
  }

  /** Starts; resolves after the first look. */
  async start(): Promise<void> {
    await this.look()
  }

  private async look(): Promise<void> {
    this.looking = this.changes().catch((error: unknown) => this.options.onError?.(error))
    await this.looking
    if (!this.isClosed) this.schedule()
  }

  private schedule(): void {
    const delayMs = nextPollMs(this.looks, this.delayMs, this.unwatch !== undefined)
    this.delayMs = delayMs
    this.cancel = this.options.clock.after(delayMs, () => {
      this.cancel = undefined
      if (isWatchDue(this.looks, delayMs)) {
        this.unwatch ??= this.topics?.watch?.(REGISTRY_TOPIC, () => this.onChange())
      }
      void this.look()
    })
  }

  /** Looks now. The topic may have a new file, so the next quiet look watches again. */
  private onChange(): void {
    if (this.unwatch === undefined) return
    this.endWatch()
    this.delayMs = undefined
    // A look in progress may have missed the change, but it schedules the next one soon.
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

  /** Stops; idempotent. */
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

function rhythmOf({ intervalMs, place }: RegistryWatchOptions): PollRhythm {
  if (intervalMs === undefined && place.kafka === undefined) return LOG_POLLS
  const always = intervalMs ?? KAFKA_LOOKS_MS
  return { firstMs: always, lastMs: always, watchedMs: always }
}
