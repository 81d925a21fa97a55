import type { RecordHeader } from '../../batch/record-batch-format.ts'
import { isWeirError, messageOf } from '../../core/errors.ts'
import type { RecordView } from '../log/log-record.ts'
import type { RecordTarget } from '../log/outgoing-record.ts'

const encoder = new TextEncoder()

/** What dead letters are sent with: the producers of the embedded log and of Kafka. */
export interface DeadLetterProducer extends RecordTarget {
  ready(): boolean
  dispatch(): void
  settled(): Promise<void>
}

/**
 * Copies records that could not be decoded to another topic, with the reason and where they lay.
 * Those of one poll go together; while they are on their way reading goes on, as far as the
 * producer's buffers allow, and a checkpoint waits for them.
 */
export class DeadLetters {
  private readonly producer: DeadLetterProducer
  private readonly topic: string
  private readonly onSettled: () => void
  private failure: unknown
  private unsent = false
  private settling: Promise<void> | undefined

  /** `topic` is the one that is read; `onSettled` hears when all copies are durable, or failed. */
  constructor(producer: DeadLetterProducer, topic: string, onSettled: () => void) {
    this.producer = producer
    this.topic = topic
    this.onSettled = onSettled
  }

  /** Copies a record. Throws what an earlier copy met. */
  copy(record: RecordView, partition: number, reason: unknown): void {
    const origin = `${this.topic}/${partition}/${record.offset}`
    const headers: RecordHeader[] = [
      ...record.headers(),
      { key: 'weir-origin', value: encoder.encode(origin) },
      { key: 'weir-reason', value: encoder.encode(messageOf(reason)) },
      { key: 'weir-code', value: encoder.encode(codeOf(reason)) },
    ]
    this.producer.sendRecord(record.key(), record.value(), record.timestamp, -1, headers)
    this.unsent = true
    this.settling ??= this.settleAll()
  }

  private async settleAll(): Promise<void> {
    try {
      while (this.unsent) {
        // Once the poll is over: the copies of one poll share batches.
        await Promise.resolve()
        this.unsent = false
        this.producer.dispatch()
        await this.producer.settled()
      }
    } catch (error) {
      this.failure = error
    }
    this.settling = undefined
    this.onSettled()
  }

  /** Whether reading may go on. */
  get ready(): boolean {
    return this.producer.ready()
  }

  /** Whether every copy is durable. */
  get isSettled(): boolean {
    return this.settling === undefined
  }

  /** Throws what a copy met. */
  throwFailure(): void {
    if (this.failure !== undefined) throw this.failure
  }

  /** Resolves when every copy is durable. Throws what a copy met. */
  async settled(): Promise<void> {
    await this.settling
    this.throwFailure()
  }
}

/** Whatever a deserializer throws means that the record cannot be decoded. */
function codeOf(reason: unknown): string {
  return isWeirError(reason) ? reason.code : 'UNPARSABLE_RECORD'
}
