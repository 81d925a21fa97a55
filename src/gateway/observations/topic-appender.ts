import type { TopicProducer, TopicStore } from '../../connectors/topics/store.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { asWeirError } from '../../core/errors.ts'
import { ratingLineFormat } from '../../models/ratings/line-format.ts'
import type { Rating } from '../../models/ratings/rating.ts'
import type { ObservationTopic } from '../port/services.ts'

const NO_HEADERS: readonly never[] = []
const encoder = new TextEncoder()

/** The record of an observation. */
interface ObservationRecord {
  readonly key: Uint8Array
  readonly bytes: Uint8Array
  readonly timestamp: number
}

/**
 * Appends observations to a topic as lines `user,item,rating[,seconds]`. The key is the user, so that all
 * observations of a user are in one partition and keep their order. Requests that come while one sync runs share the next one. After a failure the next request opens a new producer.
 */
export class TopicAppender implements ObservationTopic, AsyncDisposable {
  private readonly topics: TopicStore
  readonly topic: string
  private readonly nowMs: () => number
  private readonly format = ratingLineFormat('csv')
  private readonly line = new ByteWriter(256)
  private producer: Promise<TopicProducer> | undefined
  /** The sync that runs, and the one that will begin after it. */
  private running: Promise<void> | undefined
  private next: Promise<void> | undefined

  constructor(topics: TopicStore, topic: string, nowMs: () => number) {
    this.topics = topics
    this.topic = topic
    this.nowMs = nowMs
  }

  /** Throws UNKNOWN_TOPIC if the topic does not exist. */
  async open(): Promise<void> {
    await this.opened()
  }

  async append(observations: readonly Rating[]): Promise<void> {
    // An observation that cannot be written refuses all of them, before the first is sent.
    const lines = observations.map((observation) => this.lineOf(observation))
    const opened = this.opened()
    try {
      const producer = await opened
      if (!producer.ready()) await producer.whenReady()
      for (const { key, bytes, timestamp } of lines) {
        producer.sendRecord(key, bytes, timestamp, -1, NO_HEADERS)
      }
      await this.synced(producer)
    } catch (error) {
      // Another request may have replaced the failed producer already.
      if (this.producer === opened) this.drop()
      throw asWeirError(
        error,
        'CONNECTOR_FAILED',
        'it is not known whether the observations were stored',
      )
    }
  }

  private opened(): Promise<TopicProducer> {
    this.producer ??= this.topics.producer(this.topic)
    return this.producer
  }

  /** The record of an observation. Throws INVALID_ARGUMENT. */
  private lineOf(observation: Rating): ObservationRecord {
    this.line.reset()
    this.format.write(observation, this.line)
    const { bytes, length } = this.line
    const timestamp = observation.timestamp < 0 ? this.nowMs() : observation.timestamp
    const key = encoder.encode(observation.user)
    return { key, bytes: bytes.slice(0, length), timestamp }
  }

  /** Resolves after a sync that began after the records of the caller were sent. */
  private synced(producer: TopicProducer): Promise<void> {
    if (this.running === undefined) {
      const sync = producer.sync()
      this.running = sync
      const ended = (): void => {
        this.running = undefined
      }
      sync.then(ended, ended)
      return sync
    }
    this.next ??= this.running
      .catch(() => undefined)
      .then(() => {
        this.next = undefined
        return this.synced(producer)
      })
    return this.next
  }

  private drop(): void {
    const { producer } = this
    this.producer = undefined
    this.running = undefined
    this.next = undefined
    void producer?.then((open) => open.close()).catch(() => undefined)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const producer = await this.producer?.catch(() => undefined)
    this.producer = undefined
    await producer?.close()
  }
}
