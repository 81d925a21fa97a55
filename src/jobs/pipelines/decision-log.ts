import type { TopicProducer, TopicStore } from '../../connectors/topics/store.ts'
import type { Cancel, Clock } from '../../core/clock.ts'
import { asWeirError, type WeirError } from '../../core/errors.ts'
import {
  type DecisionRecord,
  type DecisionSink,
  decisionText,
} from '../../inference/pipelines/decision-record.ts'

/** Time after which decisions are made visible together, ms. */
const SYNC_MS = 5
/** Most decisions that wait for the log. */
const MOST_WAITING = 10_000
const NO_HEADERS: readonly never[] = []
const encoder = new TextEncoder()

/** Options of a log of decisions. */
export interface DecisionLogOptions {
  readonly topics: TopicStore
  readonly topic: string
  readonly clock: Clock
  /** Called once for each failure of the log, until it works again. */
  readonly onFailure: (error: WeirError) => void
}

/**
 * Decisions of pipelines in a topic. They are written in batches behind the requests, which wait for none of it. While the log
 * fails, or is slower than the requests, as many wait as `MOST_WAITING`; the others are lost and counted.
 */
export class DecisionLog implements DecisionSink, AsyncDisposable {
  private readonly options: DecisionLogOptions
  private waiting: DecisionRecord[] = []
  private producer: TopicProducer | undefined
  private writing: Promise<void> | undefined
  private cancel: Cancel | undefined
  private hasFailed = false
  private isClosed = false
  /** Decisions that the topic does not have. */
  lost = 0

  private constructor(options: DecisionLogOptions) {
    this.options = options
  }

  /** Opens the topic, which is created where it is missing. Rejects as the store does. */
  static async open(options: DecisionLogOptions): Promise<DecisionLog> {
    const { topics, topic } = options
    if (!(await topics.has(topic))) await topics.create(topic, {})
    const log = new DecisionLog(options)
    log.producer = await topics.producer(topic)
    return log
  }

  write(record: DecisionRecord): void {
    if (this.isClosed || this.waiting.length >= MOST_WAITING) {
      this.lost++
      return
    }
    this.waiting.push(record)
    this.schedule()
  }

  /** Writes what waits, and closes the producer. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.isClosed = true
    this.cancel?.()
    await this.writing
    await this.flush()
    await this.producer?.close().catch(() => {})
  }

  private schedule(): void {
    if (this.cancel !== undefined || this.writing !== undefined) return
    this.cancel = this.options.clock.after(SYNC_MS, () => {
      this.cancel = undefined
      this.writing = this.flush().finally(() => {
        this.writing = undefined
        if (this.waiting.length > 0 && !this.isClosed) this.schedule()
      })
    })
  }

  private async flush(): Promise<void> {
    const batch = this.waiting
    if (batch.length === 0) return
    this.waiting = []
    try {
      this.producer ??= await this.options.topics.producer(this.options.topic)
      const { producer } = this
      for (const record of batch) {
        if (!producer.ready()) await producer.whenReady()
        const value = encoder.encode(decisionText(record))
        producer.sendRecord(encoder.encode(record.context), value, record.timeMs, -1, NO_HEADERS)
      }
      await producer.sync()
      this.hasFailed = false
    } catch (error) {
      // It is not known which of them are stored: a second copy would count twice for who reads them.
      this.lost += batch.length
      const failed = this.producer
      this.producer = undefined
      await failed?.close().catch(() => {})
      if (!this.hasFailed) this.options.onFailure(asWeirError(error, 'CONNECTOR_FAILED'))
      this.hasFailed = true
    }
  }
}
