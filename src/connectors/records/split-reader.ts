import { messageOf, requireArgument, WeirError } from '../../core/errors.ts'
import type { Counter } from '../../core/metrics.ts'
import { flag, name, required } from '../../core/options/kinds.ts'
import type { OptionShape } from '../../core/options/shape.ts'
import type { PollResult, SourceOutput } from '../../operators/port/source.ts'
import type { RecordBatchReader } from '../../wire/batch/record-batch-reader.ts'
import { type DeadLetterProducer, DeadLetters, smallerDeadLetter } from './dead-letters.ts'
import {
  closeFormat,
  type FormatContext,
  FormatNotReady,
  functionOrFormat,
  type OpeningFormat,
  openFormat,
  reported,
} from './opening-format.ts'
import type { MakeSmaller } from './smaller-record.ts'
import { UNDECODABLE, type UndecodablePolicy } from './topic-options.ts'
import type { RecordDeserializer } from './topic-record.ts'

/** A partition that is being read: its batches are fetched ahead and decoded in place. */
export interface PolledSplit {
  readonly partition: number
  /** Offset before which the split ends; undefined when it has no end. */
  readonly stopOffset: number | undefined
  /** The open batch, after `openBatch` returned true. */
  readonly batch: RecordBatchReader
  /** Offset after the last delivered record. */
  nextOffset: number
  /** Offsets up to the end of what can be read, as far as the end is known. */
  readonly pendingOffsets: number
  /** Whether a poll delivers records or progress of this split. */
  readonly isReady: boolean
  /** Opens the next batch with records to deliver; false when more must be fetched first. */
  openBatch(): boolean
  /** Closes the open batch, whose records are all delivered. */
  closeBatch(): void
  /** After the end was reached: the wall-clock time in ms at which it was the end. Returned once. */
  takeEndSeen(): number | undefined
}

/** Options of a `SplitReader`, which every source of a topic has. */
export interface SplitReaderOptions<T> {
  readonly topic: string
  readonly deserialize: RecordDeserializer<T> | OpeningFormat<RecordDeserializer<T>>
  /** End at the offsets that exist when the reader gets its splits; default false. */
  readonly bounded?: boolean
  /** Default `fail`. */
  readonly undecodable?: UndecodablePolicy
}

/** The options of a `SplitReader`. */
export const SPLIT_READER: OptionShape<SplitReaderOptions<unknown>> = {
  topic: required(name),
  deserialize: required(functionOrFormat<RecordDeserializer<unknown>>()),
  bounded: flag,
  undecodable: UNDECODABLE,
}

/** Polls splits in turn, decodes their records in place and handles those that are refused. */
export class SplitReader<T, Split extends PolledSplit> {
  protected readonly splits: Split[] = []
  private readonly topic: string
  private readonly format: SplitReaderOptions<T>['deserialize']
  private deserialize!: RecordDeserializer<T>
  private formatContext!: FormatContext
  private readonly bounded: boolean
  private readonly undecodable: UndecodablePolicy
  private deadLetters: DeadLetters | undefined
  private refused: Counter | undefined
  private skipped: Counter | undefined
  private next = 0
  private held: ReadonlySet<number> = new Set()
  /** Splits whose next record waits for its format, and those whose record is read again. */
  private readonly unreadable = new Set<Split>()
  private readonly again = new Set<Split>()
  private wake: (() => void) | undefined

  constructor(options: SplitReaderOptions<T>) {
    const { topic, deserialize, bounded = false, undecodable = 'fail' } = options
    requireArgument(
      typeof undecodable === 'string' || undecodable.deadLetterTopic !== topic,
      `the dead letters of topic "${topic}" cannot go to this topic: each would be read and copied again, without end; name another deadLetterTopic`,
    )
    this.topic = topic
    this.format = deserialize
    this.bounded = bounded
    this.undecodable = undecodable
  }

  /** Opens the format, and prepares the counters and, if the policy needs one, the producer of dead letters. */
  protected async openPolling(
    context: FormatContext,
    openProducer: (topic: string, makeSmaller: MakeSmaller) => Promise<DeadLetterProducer>,
  ): Promise<void> {
    this.formatContext = context
    this.deserialize = await openFormat(this.format, context, this.topic)
    const { metrics } = context
    this.refused = metrics.counter('numRecordsUndecodable')
    this.skipped = metrics.counter('numRecordsSkipped')
    metrics.gauge('pendingRecords', () =>
      this.splits.reduce((sum, split) => sum + split.pendingOffsets, 0),
    )
    const { undecodable, topic } = this
    if (typeof undecodable === 'string') return
    const shortened = metrics.counter('numDeadLettersWithoutValue')
    const producer = await openProducer(undecodable.deadLetterTopic, (refused) => {
      if (refused.value() !== null) shortened.increment()
      return smallerDeadLetter(refused)
    })
    this.deadLetters = new DeadLetters(producer, topic, () => this.wakeUp())
  }

  protected async closePolling(): Promise<void> {
    await closeFormat(this.format)
  }

  /** Throws the failure that ended the reading, if there is one. */
  protected throwFailure(): void {
    this.deadLetters?.throwFailure()
  }

  /** Called after each poll of a split. */
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

  /** False while too many dead letters are in flight. */
  private mayDeliver(): boolean {
    return this.deadLetters === undefined || this.deadLetters.ready
  }

  private hasEnded(): boolean {
    if (!this.bounded || this.deadLetters?.isSettled === false) return false
    return this.splits.every((split) => isAtEnd(split))
  }

  private pending(): PollResult {
    return this.mayDeliver() && this.splits.some((split) => this.mayPoll(split)) ? 'more' : 'idle'
  }

  /** See `SourceReader.holdBack`. What is fetched of a partition stays, and no more is fetched. */
  holdBack(partitions: ReadonlySet<number>): void {
    this.held = partitions
    this.wakeUp()
  }

  private mayPoll(split: Split): boolean {
    return split.isReady && !this.held.has(split.partition) && !this.unreadable.has(split)
  }

  /** The present record of a split is read again when its format is there, or has failed. */
  private awaitFormat(split: Split, { settled }: FormatNotReady): void {
    this.unreadable.add(split)
    const again = (): void => {
      this.unreadable.delete(split)
      this.again.add(split)
      this.wakeUp()
    }
    reported(settled, this.formatContext, `${this.topic}/${split.partition}`).then(again, again)
  }

  /** Delivers up to `max` records of a split and returns their number. */
  private pollSplit(split: Split, output: SourceOutput<T>, max: number): number {
    if (!this.mayPoll(split)) return 0
    const before = split.nextOffset
    let delivered = 0
    while (delivered < max && this.mayDeliver() && !isAtEnd(split) && split.openBatch()) {
      delivered += this.pollBatch(split, output, max - delivered)
      if (this.unreadable.has(split)) break
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
      if (!this.again.delete(split) && !batch.next()) {
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
        if (cause instanceof FormatNotReady) {
          this.awaitFormat(split, cause)
          break
        }
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

  /** Whether a poll would deliver records, end or throw. */
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

  /** Called when the reader begins to wait for records. */
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
