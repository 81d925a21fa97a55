import { RecordBatchReader } from '../../batch/record-batch-reader.ts'
import type { Cancel } from '../../core/clock.ts'
import { messageOf, WeirError } from '../../core/errors.ts'
import type { Counter } from '../../core/metrics.ts'
import type {
  PollResult,
  SourceOutput,
  SourceReader,
  SourceReaderContext,
  SourceSplit,
} from '../../operators/source.ts'
import { EmbeddedLog } from './embedded-log.ts'
import { LogChanges } from './log-changes.ts'
import type { EmbeddedLogProducer } from './log-producer.ts'
import type { LogSourceOptions } from './log-source.ts'
import type { FetchedBatches } from './partition-reader.ts'
import { SplitPrefetcher } from './split-prefetcher.ts'
import { partitionPath } from './topic-config.ts'

const encoder = new TextEncoder()

/** A split with what is being decoded of it. */
interface ActiveSplit {
  readonly partition: number
  readonly prefetcher: SplitPrefetcher
  readonly batch: RecordBatchReader
  readonly stopListening: () => void
  /** Offset after the last delivered record. */
  nextOffset: number
  chunk: FetchedBatches | undefined
  /** Position in the chunk of the batch after the present one. */
  at: number
  inBatch: boolean
}

const DEFAULT_PREFETCH_BYTES = 1024 * 1024
/** Look at the files this often when no writer of this process announces changes, in ms. */
const POLL_FIRST_MS = 1
const POLL_LAST_MS = 20

/** Reads the splits of one subtask; see `LogSource`. */
export class LogSourceReader<T> implements SourceReader<T> {
  private readonly options: LogSourceOptions<T>
  private readonly splits: ActiveSplit[] = []
  private context: SourceReaderContext | undefined
  private changes: LogChanges | undefined
  private undecodable: Counter | undefined
  private deadLetterLog: EmbeddedLog | undefined
  private deadLetters: EmbeddedLogProducer | undefined
  private next = 0
  private wake: (() => void) | undefined
  private cancelPoll: Cancel | undefined

  constructor(options: LogSourceOptions<T>) {
    this.options = options
  }

  async open(context: SourceReaderContext): Promise<void> {
    const { directory, undecodable = 'fail' } = this.options
    this.context = context
    this.changes = new LogChanges(directory)
    this.undecodable = context.metrics.counter('numRecordsUndecodable')
    if (typeof undecodable === 'string') return
    this.deadLetterLog = await EmbeddedLog.open(directory)
    this.deadLetters = this.deadLetterLog.producer(undecodable.deadLetterTopic)
  }

  async addSplits(splits: readonly SourceSplit[]): Promise<void> {
    for (const split of splits) await this.addSplit(split)
    this.wakeUp()
  }

  private async addSplit({ partition, nextOffset }: SourceSplit): Promise<void> {
    const { directory, topic, prefetchBytes = DEFAULT_PREFETCH_BYTES } = this.options
    const reader = SplitPrefetcher.open(partitionPath(directory, topic, partition), this.options)
    const start = nextOffset >= 0 ? nextOffset : await this.startOf(reader, partition)
    const stopOffset = this.options.bounded === true ? reader.limit() : undefined
    const onReady = (): void => this.wakeUp()
    const prefetcher = new SplitPrefetcher(
      partition,
      reader,
      start,
      stopOffset,
      prefetchBytes,
      onReady,
    )
    const stopListening = this.changes!.listen(topic, partition, () => prefetcher.fill())
    const batch = new RecordBatchReader()
    const place = { nextOffset: start, chunk: undefined, at: 0, inBatch: false }
    this.splits.push({ partition, prefetcher, batch, stopListening, ...place })
    prefetcher.fill()
  }

  private async startOf(
    reader: ReturnType<typeof SplitPrefetcher.open>,
    partition: number,
  ): Promise<number> {
    const { start = 'earliest' } = this.options
    if (start === 'earliest') return reader.status().logStart
    if (start === 'latest') return reader.limit()
    if ('timestamp' in start) return await reader.offsetFor(start.timestamp)
    return start.offsets[partition] ?? reader.status().logStart
  }

  poll(output: SourceOutput<T>, maxRecords: number): PollResult {
    let left = maxRecords
    const count = this.splits.length
    for (let tried = 0; tried < count && left > 0; tried++) {
      if (this.next >= count) this.next = 0
      const split = this.splits[this.next]!
      left -= this.pollSplit(split, output, left)
      if (left > 0) this.next += 1
    }
    if (left < maxRecords) return 'more'
    return this.hasEnded() ? 'ended' : this.pending()
  }

  private hasEnded(): boolean {
    if (this.options.bounded !== true) return false
    return this.splits.every((split) => isAtEnd(split))
  }

  private pending(): PollResult {
    const more = this.splits.some(
      (split) => !isAtEnd(split) && (split.chunk !== undefined || split.prefetcher.isReady),
    )
    return more ? 'more' : 'idle'
  }

  /** Delivers up to `max` records of a split and returns how many it was. */
  private pollSplit(split: ActiveSplit, output: SourceOutput<T>, max: number): number {
    const before = split.nextOffset
    let delivered = 0
    while (delivered < max && !isAtEnd(split)) {
      if (split.chunk === undefined) {
        split.chunk = split.prefetcher.take()
        split.at = 0
        if (split.chunk === undefined) break
      }
      delivered += this.pollChunk(split, split.chunk, output, max - delivered)
    }
    if (split.nextOffset !== before) output.progress(split.partition, split.nextOffset)
    return delivered
  }

  private pollChunk(
    split: ActiveSplit,
    chunk: FetchedBatches,
    output: SourceOutput<T>,
    max: number,
  ): number {
    let delivered = 0
    while (delivered < max) {
      if (!split.inBatch && !this.openBatch(split, chunk)) {
        split.nextOffset = chunk.nextOffset
        split.chunk = undefined
        split.prefetcher.release(chunk)
        break
      }
      delivered += this.pollBatch(split, output, max - delivered)
      if (isAtEnd(split)) break
    }
    return delivered
  }

  /** Opens the next batch that has records to deliver; false at the end of the chunk. */
  private openBatch(split: ActiveSplit, chunk: FetchedBatches): boolean {
    const batch = split.batch
    while (split.at < chunk.end) {
      split.at = batch.open(chunk.bytes, split.at, false)
      const aborted =
        batch.isTransactional && chunk.aborted.contains(batch.producerId, batch.baseOffset)
      if (!batch.isControl && !aborted) {
        split.inBatch = true
        return true
      }
      split.nextOffset = Math.max(split.nextOffset, batch.lastOffset + 1)
    }
    return false
  }

  private pollBatch(split: ActiveSplit, output: SourceOutput<T>, max: number): number {
    const { batch, partition } = split
    const deserialize = this.options.deserialize
    const stop = split.prefetcher.stopOffset ?? Number.POSITIVE_INFINITY
    let delivered = 0
    while (delivered < max) {
      if (!batch.next()) {
        split.inBatch = false
        split.nextOffset = Math.max(split.nextOffset, batch.lastOffset + 1)
        break
      }
      const offset = batch.offset
      if (offset < split.nextOffset) continue
      if (offset >= stop) {
        split.nextOffset = stop
        break
      }
      let value: T | undefined
      try {
        value = deserialize(batch, partition)
      } catch (cause) {
        this.refuse(split, cause)
      }
      split.nextOffset = offset + 1
      delivered += 1
      if (value !== undefined) output.collect(value, batch.timestamp, partition, offset)
    }
    return delivered
  }

  private refuse(split: ActiveSplit, cause: unknown): void {
    this.undecodable?.increment()
    const { topic, undecodable = 'fail' } = this.options
    if (undecodable === 'skip') return
    const { partition, batch } = split
    if (undecodable !== 'fail') {
      const reason = encoder.encode(messageOf(cause))
      const origin = encoder.encode(`${topic}/${partition}/${batch.offset}`)
      const headers = [
        ...batch.headers(),
        { key: 'weir-origin', value: origin },
        { key: 'weir-reason', value: reason },
      ]
      this.deadLetters!.send(batch.key(), batch.value(), batch.timestamp, { headers })
      this.deadLetters!.dispatch()
      return
    }
    const message = `record ${batch.offset} of ${topic}/${partition} cannot be decoded: ${messageOf(cause)}`
    const details = { topic, partition, offset: batch.offset }
    throw new WeirError('UNPARSABLE_RECORD', message, { cause, details })
  }

  available(): Promise<void> {
    if (this.pending() === 'more' || this.hasEnded()) return Promise.resolve()
    return new Promise((resolve) => {
      this.wake = resolve
      for (const split of this.splits) split.prefetcher.fill()
      if (this.wake !== undefined) this.schedulePoll(POLL_FIRST_MS)
    })
  }

  /** Looks at the files again and again while the subtask waits: another process may write them. */
  private schedulePoll(delayMs: number): void {
    this.cancelPoll?.()
    this.cancelPoll = this.context!.clock.after(delayMs, () => {
      if (this.wake === undefined) return
      for (const split of this.splits) split.prefetcher.fill()
      if (this.wake !== undefined) this.schedulePoll(Math.min(delayMs * 2, POLL_LAST_MS))
    })
  }

  private wakeUp(): void {
    const wake = this.wake
    if (wake === undefined) return
    this.wake = undefined
    this.cancelPoll?.()
    wake()
  }

  snapshot(): SourceSplit[] {
    return this.splits.map(({ partition, nextOffset }) => ({ partition, nextOffset }))
  }

  checkpointCompleted(_checkpointId: number): void {
    // Offsets live in the checkpoint alone; the embedded log has no consumer groups.
  }

  async close(): Promise<void> {
    this.wakeUp()
    this.cancelPoll?.()
    for (const split of this.splits) {
      split.stopListening()
      split.prefetcher.close()
    }
    this.splits.length = 0
    this.changes?.close()
    await this.deadLetters?.flush()
    await this.deadLetterLog?.close()
  }
}

function isAtEnd(split: ActiveSplit): boolean {
  const stop = split.prefetcher.stopOffset
  return stop !== undefined && split.nextOffset >= stop
}
