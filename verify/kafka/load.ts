import type { Producer } from 'kafkajs'
import { type LoadMessage, openProducer, type StoredGroup, sendByPartition } from './client.ts'

/** A message that the broker has acknowledged. */
export interface StoredMessage {
  readonly key: string
  readonly partition: number
  readonly offset: number
  /** Wall-clock time of the acknowledgement, not earlier than it was. */
  readonly storedMs: number
}

/** Messages and rate of a load. */
export interface LoadOptions {
  readonly brokers: string
  readonly topic: string
  readonly batch: number
  readonly everyMs: number
  readonly next: () => LoadMessage
  /** Called when a batch is not acknowledged, so that some of it may not be stored. */
  readonly onUnknown?: () => void
}

const RECENT = 64

/**
 * A load that sends batch after batch with an idempotent producer and records the acknowledgements. A batch
 * without acknowledgement is not sent again; at the end, the topic shows whether it is stored.
 */
export class Load {
  /** Time of the acknowledgement of each offset, by partition. */
  readonly stored = new Map<number, Map<number, number>>()
  /** The last acknowledged messages, in any order. */
  readonly recent: StoredMessage[] = []
  /** Number of batches without acknowledgement. */
  unknown = 0
  private readonly options: LoadOptions
  private producer: Producer | undefined
  private going = true
  private isStale = false
  private isPaused = false
  private sending = Promise.resolve()
  private turn = 0

  constructor(options: LoadOptions) {
    this.options = options
  }

  /** Starts sending. */
  start(): void {
    this.sending = this.send()
  }

  private async send(): Promise<void> {
    const { topic, batch, everyMs, next, onUnknown, brokers } = this.options
    while (this.going) {
      if (this.isPaused) {
        await new Promise((resolve) => setTimeout(resolve, everyMs))
        continue
      }
      const messages = Array.from({ length: batch }, next)
      try {
        if (this.isStale) await this.producer?.disconnect()
        if (this.isStale) this.producer = undefined
        this.isStale = false
        this.producer ??= await openProducer(brokers)
        for await (const group of sendByPartition(this.producer, topic, messages)) {
          this.record(group)
        }
      } catch {
        this.unknown += 1
        onUnknown?.()
        await this.producer?.disconnect().catch(() => undefined)
        this.producer = undefined
      }
      await new Promise((resolve) => setTimeout(resolve, everyMs))
    }
    await this.producer?.disconnect()
  }

  private record({ partition, baseOffset, messages }: StoredGroup): void {
    if (baseOffset < 0) return
    // The clock has whole milliseconds: that is the end of the present one.
    const storedMs = Date.now() + 1
    const ofPartition = this.stored.get(partition) ?? new Map<number, number>()
    this.stored.set(partition, ofPartition)
    for (const [i, { key }] of messages.entries()) {
      const offset = baseOffset + i
      ofPartition.set(offset, storedMs)
      this.recent[this.turn++ % RECENT] = { key, partition, offset, storedMs }
    }
  }

  /** Uses a new producer from the next batch on, which knows the partitions that were added. */
  reconnect(): void {
    this.isStale = true
  }

  /** Sends nothing from the next batch on, or sends again. */
  pause(isPaused: boolean): void {
    this.isPaused = isPaused
  }

  /** Ends the load after the current batch. */
  async stop(): Promise<void> {
    this.going = false
    await this.sending
  }
}
