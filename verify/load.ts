import type { Producer } from 'kafkajs'
import { openProducer } from './kafkajs.ts'

/** One message of a load. */
export interface LoadMessage {
  readonly key: string
  readonly value: Buffer
  readonly partition: number
}

/** A message that is known to be stored. */
export interface StoredMessage {
  readonly key: string
  readonly partition: number
  readonly offset: number
  /** Wall-clock time when the broker had said so. */
  readonly storedMs: number
}

/** What a load sends and how fast. */
export interface LoadOptions {
  readonly brokers: string
  readonly topic: string
  readonly batch: number
  readonly everyMs: number
  readonly next: () => LoadMessage
}

const RECENT = 64

/**
 * Sends batch after batch with an idempotent producer and notes what the broker acknowledged: the
 * verifier's ledger. A batch whose fate is unknown is not sent again; the topic tells in the end.
 */
export class Load {
  /** Offset to the time when it was known to be stored, by partition. */
  readonly stored = new Map<number, Map<number, number>>()
  /** The last messages that were stored, any order. */
  readonly recent: StoredMessage[] = []
  /** Batches whose fate is unknown. */
  unknown = 0
  private readonly options: LoadOptions
  private producer: Producer | undefined
  private going = true
  private sending = Promise.resolve()
  private turn = 0

  constructor(options: LoadOptions) {
    this.options = options
  }

  start(): void {
    this.sending = this.send()
  }

  private async send(): Promise<void> {
    const { topic, batch, everyMs, next, brokers } = this.options
    while (this.going) {
      const messages = Array.from({ length: batch }, next)
      try {
        this.producer ??= await openProducer(brokers)
        const answers = await this.producer.send({ topic, messages, acks: -1 })
        this.note(messages, new Map(answers.map((one) => [one.partition, Number(one.baseOffset)])))
      } catch {
        this.unknown += 1
        await this.producer?.disconnect().catch(() => undefined)
        this.producer = undefined
      }
      await new Promise((resolve) => setTimeout(resolve, everyMs))
    }
    await this.producer?.disconnect()
  }

  private note(messages: readonly LoadMessage[], next: Map<number, number>): void {
    const storedMs = Date.now()
    for (const { key, partition } of messages) {
      const offset = next.get(partition)
      if (offset === undefined || offset < 0) continue
      next.set(partition, offset + 1)
      const ofPartition = this.stored.get(partition) ?? new Map<number, number>()
      this.stored.set(partition, ofPartition)
      ofPartition.set(offset, storedMs)
      this.recent[this.turn++ % RECENT] = { key, partition, offset, storedMs }
    }
  }

  /** Ends the load when the batch under way is stored. */
  async stop(): Promise<void> {
    this.going = false
    await this.sending
  }
}
