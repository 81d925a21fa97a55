import type { RecordBatchReader } from '../../batch/record-batch-reader.ts'
import { messageOf, WeirError } from '../../core/errors.ts'
import type { Counter, MetricGroup } from '../../core/metrics.ts'
import type { PollResult, SourceOutput } from '../../operators/source.ts'
import type { RecordDeserializer } from '../log/log-record.ts'
import { type DeadLetterProducer, DeadLetters } from './dead-letters.ts'

/** A partition that is being read: its batches are fetched ahead and decoded in place. */
export interface PolledSplit {
  readonly partition: number
  /** Offset before which this split ends; undefined when it does not. */
  readonly stopOffset: number | undefined
  /** The batch that `openBatch` opened. */
  readonly batch: RecordBatchReader
  /** Offset after the last delivered record. */
  nextOffset: number
  /** Whether a poll has something to do here. */
  readonly isReady: boolean
  /** Moves to the next batch with records to deliver; false when more must be fetched first. */
  openBatch(): boolean
  /** The records of the open batch are all delivered. */
  closeBatch(): void
  /** When the end was reached: the wall-clock time at which it was the end, once. */
  takeEndSeen(): number | undefined
}

/** What happens to a record that the deserializer refuses. */
type UndecodablePolicy = 'fail' | 'skip' | { readonly deadLetterTopic: string }

/** What is read, and into what. */
export interface SplitReaderOptions<T> {
  readonly topic: string
  readonly deserialize: RecordDeserializer<T>
  readonly bounded?: boolean
  readonly undecodable?: UndecodablePolicy
}

/** Polls splits in turn, decodes their records in place and deals with those that are refused. */
export class SplitReader<T, Split extends PolledSplit> {
  protected readonly splits: Split[] = []
  private readonly topic: string
  private readonly deserialize: RecordDeserializer<T>
  private readonly bounded: boolean
  private readonly undecodable: UndecodablePolicy
  private deadLetters: DeadLetters | undefined
  private refused: Counter | undefined
  private skipped: Counter | undefined
  private next = 0
  private wake: (() => void) | undefined

  constructor(options: SplitReaderOptions<T>) {
    const { topic, deserialize, bounded = false, undecodable = 'fail' } = options
    this.topic = topic
    this.deserialize = deserialize
    this.bounded = bounded
    this.undecodable = undecodable
  }

  /** Readies counters and, where the policy asks for one, the producer of dead letters. */
  protected async openPolling(
    metrics: MetricGroup,
    openProducer: (topic: string) => Promise<DeadLetterProducer>,
  ): Promise<void> {
    this.refused = metrics.counter('numRecordsUndecodable')
    this.skipped = metrics.counter('numRecordsSkipped')
    const { undecodable, topic } = this
    if (typeof undecodable === 'string') return
    const producer = await openProducer(undecodable.deadLetterTopic)
    this.deadLetters = new DeadLetters(producer, topic, () => this.wakeUp())
  }

  /** Throws what ended the reading. */
  protected throwFailure(): void {
    this.deadLetters?.throwFailure()
  }

  /** A split was polled. */
  protected polled(_split: Split): void {}

  poll(output: SourceOutput<T>, maxRecords: number): PollResult {
    this.throwFailure()
    let left = maxRecords
    const count = this.splits.length
    for (let tried = 0; tried < count && left > 0 && this.mayDeliver(); tried++) {
      if (this.next >= count) this.next = 0
      const split = this.splits[this.next]!
      left -= this.pollSplit(split, output, left)
      if (left > 0) this.next += 1
    }
    if (left < maxRecords) return 'more'
    return this.hasEnded() ? 'ended' : this.pending()
  }

  /** False while too many dead letters are on their way. */
  private mayDeliver(): boolean {
    return this.deadLetters === undefined || this.deadLetters.ready
  }

  private hasEnded(): boolean {
    if (!this.bounded || this.deadLetters?.isSettled === false) return false
    return this.splits.every((split) => isAtEnd(split))
  }

  private pending(): PollResult {
    return this.mayDeliver() && this.splits.some((split) => split.isReady) ? 'more' : 'idle'
  }

  /** Delivers up to `max` records of a split and returns how many it was. */
  private pollSplit(split: Split, output: SourceOutput<T>, max: number): number {
    if (!split.isReady) return 0
    const before = split.nextOffset
    let delivered = 0
    while (delivered < max && this.mayDeliver() && !isAtEnd(split) && split.openBatch()) {
      delivered += this.pollBatch(split, output, max - delivered)
    }
    this.polled(split)
    const endSeen = split.takeEndSeen()
    if (split.nextOffset !== before || endSeen !== undefined) {
      output.progress(split.partition, split.nextOffset, endSeen)
    }
    return delivered
  }

  private pollBatch(split: Split, output: SourceOutput<T>, max: number): number {
    const { batch, partition } = split
    const { deserialize } = this
    const stop = split.stopOffset ?? Number.POSITIVE_INFINITY
    let delivered = 0
    while (delivered < max) {
      if (!batch.next()) {
        split.closeBatch()
        break
      }
      const offset = batch.offset
      if (offset < split.nextOffset) continue
      if (offset >= stop) {
        split.nextOffset = stop
        break
      }
      let value: T | undefined
      let isRefused = false
      try {
        value = deserialize(batch, partition)
        if (value === undefined) this.skipped!.value += 1
      } catch (cause) {
        isRefused = true
        this.refuse(split, cause)
      }
      split.nextOffset = offset + 1
      delivered += 1
      if (value !== undefined) output.collect(value, batch.timestamp, partition, offset)
      else if (isRefused && !this.mayDeliver()) break
    }
    return delivered
  }

  private refuse({ batch, partition }: Split, cause: unknown): void {
    this.refused!.increment()
    if (this.undecodable === 'skip') return
    if (this.deadLetters !== undefined) {
      this.deadLetters.copy(batch, partition, cause)
      return
    }
    const { topic } = this
    const { offset } = batch
    const message = `record ${offset} of ${topic}/${partition} cannot be decoded: ${messageOf(cause)}`
    const details = { topic, partition, offset }
    throw new WeirError('UNPARSABLE_RECORD', message, { cause, details })
  }

  /** See `SourceReader.settled`. */
  settled(): Promise<void> | undefined {
    return this.deadLetters?.isSettled === false ? this.deadLetters.settled() : undefined
  }

  /** Whether a poll would deliver, end or throw. */
  protected isDue(): boolean {
    return this.pending() === 'more' || this.hasEnded()
  }

  available(): Promise<void> {
    try {
      this.throwFailure()
    } catch {
      // The next poll throws it.
      return Promise.resolve()
    }
    if (this.isDue()) return Promise.resolve()
    return new Promise((resolve) => {
      this.wake = resolve
      this.waiting()
    })
  }

  /** `available` was called and nothing is there. */
  protected waiting(): void {}

  protected get isWaiting(): boolean {
    return this.wake !== undefined
  }

  protected wakeUp(): void {
    const { wake } = this
    this.wake = undefined
    wake?.()
  }
}

function isAtEnd({ stopOffset, nextOffset }: PolledSplit): boolean {
  return stopOffset !== undefined && nextOffset >= stopOffset
}
