import type { Cancel } from '../../core/clock.ts'
import type {
  SourceOutput,
  SourceReader,
  SourceReaderContext,
  SourceSplit,
} from '../../operators/port/source.ts'
import { RecordBatchReader } from '../../wire/batch/record-batch-reader.ts'
import { type PolledSplit, SplitReader } from '../records/split-reader.ts'
import {
  decodeOrigin,
  encodeOrigin,
  requireSameTopic,
  type TopicOrigin,
} from '../records/topic-origin.ts'
import { EmbeddedLog } from './embedded-log.ts'
import { isWatchDue, nextPollMs, type PollRhythm } from './poll-rhythm.ts'
import type { LogSourceOptions } from './source-options.ts'
import { SplitPrefetcher } from './split-prefetcher.ts'
import type { FetchedBatches } from './storage/fetched-batches.ts'
import { PartitionReader } from './storage/partition-reader.ts'
import { statusPath } from './storage/partition-status.ts'
import { logIdOf, partitionPath, readTopicConfig } from './storage/topic-config.ts'
import { listenToChanges } from './writer/changes.ts'
import { FileWatch } from './writer/file-watch.ts'

/** One partition that is being read, with the chunk that is being decoded. */
class LogSplit implements PolledSplit {
  readonly batch = new RecordBatchReader()
  nextOffset: number
  readonly prefetcher: SplitPrefetcher
  readonly stopListening: () => void
  private chunk: FetchedBatches | undefined
  /** Position in the chunk of the batch after the current one. */
  private at = 0
  private inBatch = false

  constructor(prefetcher: SplitPrefetcher, nextOffset: number, stopListening: () => void) {
    this.prefetcher = prefetcher
    this.nextOffset = nextOffset
    this.stopListening = stopListening
  }

  get partition(): number {
    return this.prefetcher.partition
  }

  get stopOffset(): number | undefined {
    return this.prefetcher.stopOffset
  }

  get pendingOffsets(): number {
    return this.prefetcher.pendingFrom(this.nextOffset)
  }

  get isReady(): boolean {
    if (this.stopOffset !== undefined && this.nextOffset >= this.stopOffset) return false
    return this.chunk !== undefined || this.prefetcher.isReady
  }

  openBatch(): boolean {
    if (this.inBatch) return true
    for (;;) {
      if (this.chunk === undefined) {
        this.chunk = this.prefetcher.take()
        this.at = 0
      }
      const { chunk } = this
      if (chunk === undefined) return false
      if (this.openBatchOf(chunk)) return true
      this.nextOffset = chunk.nextOffset
      this.chunk = undefined
      this.prefetcher.release(chunk)
      if (this.stopOffset !== undefined && this.nextOffset >= this.stopOffset) return false
    }
  }

  private openBatchOf(chunk: FetchedBatches): boolean {
    const { batch } = this
    while (this.at < chunk.end) {
      this.at = batch.open(chunk.bytes, this.at, false)
      const aborted =
        batch.isTransactional && chunk.aborted.contains(batch.producerId, batch.baseOffset)
      if (!batch.isControl && !aborted) {
        this.inBatch = true
        return true
      }
      this.nextOffset = Math.max(this.nextOffset, batch.lastOffset + 1)
    }
    return false
  }

  closeBatch(): void {
    this.inBatch = false
    this.nextOffset = Math.max(this.nextOffset, this.batch.lastOffset + 1)
  }

  takeEndSeen(): number | undefined {
    const { prefetcher } = this
    const { endOffset, endSeenMs } = prefetcher
    if (endOffset < 0 || this.nextOffset < endOffset) return undefined
    prefetcher.endOffset = -1
    return endSeenMs
  }
}

const DEFAULT_PREFETCH_BYTES = 1024 * 1024
/** Intervals at which the files are polled while no writer of this process announces changes. */
const POLL_RHYTHM: PollRhythm = { firstMs: 4, lastMs: 20, watchedMs: 250 }

/** Reads the splits of one subtask; see `LogSource`. */
export class LogSourceReader<T> extends SplitReader<T, LogSplit> implements SourceReader<T> {
  private readonly options: LogSourceOptions<T>
  private context: SourceReaderContext | undefined
  private deadLetterLog: EmbeddedLog | undefined
  private cancelPoll: Cancel | undefined
  /** The topic when the reader got its splits: its offsets belong to no later topic of this name. */
  private origin: TopicOrigin | undefined
  private readonly watch = new FileWatch()

  constructor(options: LogSourceOptions<T>) {
    super(options)
    this.options = options
  }

  async open(context: SourceReaderContext): Promise<void> {
    const { directory } = this.options
    this.context = context
    await this.openPolling(context, async (deadLetterTopic) => {
      this.deadLetterLog = await EmbeddedLog.open(directory)
      return this.deadLetterLog.producer(deadLetterTopic)
    })
  }

  async addSplits(splits: readonly SourceSplit[]): Promise<void> {
    const now = this.topicNow()
    if (this.origin !== undefined) requireSameTopic(this.origin, now)
    this.origin = now
    for (const { origin } of splits) {
      if (origin !== undefined) requireSameTopic(decodeOrigin(origin), now)
    }
    for (const split of splits) await this.addSplit(split)
    this.wakeUp()
  }

  private topicNow(): TopicOrigin {
    const { directory, topic } = this.options
    const { id, partitions } = readTopicConfig(directory, topic)
    return { topic, id, partitions, cluster: logIdOf(directory) }
  }

  private async addSplit({ partition, nextOffset }: SourceSplit): Promise<void> {
    const { directory, topic, prefetchBytes = DEFAULT_PREFETCH_BYTES } = this.options
    const reader = new PartitionReader(partitionPath(directory, topic, partition), this.options)
    const start = nextOffset >= 0 ? nextOffset : await this.startOf(reader, partition)
    const stopOffset = this.options.bounded === true ? reader.limit() : undefined
    const onReady = (): void => this.wakeUp()
    const prefetcher = new SplitPrefetcher({
      partition,
      reader,
      start,
      stopOffset,
      bufferBytes: prefetchBytes,
      clock: this.context!.clock,
      onReady,
    })
    const onChange = (): void => prefetcher.fillNow()
    const stopListening = listenToChanges(directory, { topic, partition }, onChange)
    this.splits.push(new LogSplit(prefetcher, start, stopListening))
    prefetcher.fill()
  }

  private async startOf(reader: PartitionReader, partition: number): Promise<number> {
    const { start = 'earliest' } = this.options
    if (start === 'earliest') return reader.status().logStart
    if (start === 'latest') return reader.limit()
    if ('timestamp' in start) return await reader.offsetFor(start.timestamp)
    return start.offsets[partition] ?? reader.status().logStart
  }

  protected override waiting(): void {
    this.fillAll()
    if (this.isWaiting && this.splits.length > 0) this.schedulePoll()
  }

  reportEnds(output: Pick<SourceOutput<T>, 'progress'>): void {
    this.fillAll()
    for (const split of this.splits) {
      const endSeen = split.takeEndSeen()
      if (endSeen !== undefined) output.progress(split.partition, split.nextOffset, endSeen)
    }
  }

  private fillAll(): void {
    for (const split of this.splits) split.prefetcher.fill()
  }

  /** Polls the files repeatedly while the subtask waits, because another process may write them. */
  private schedulePoll(previousMs?: number): void {
    this.cancelPoll?.()
    const delayMs = nextPollMs(POLL_RHYTHM, previousMs, this.watch.isOpen)
    this.cancelPoll = this.context!.clock.after(delayMs, () => {
      if (!this.isWaiting) return
      if (isWatchDue(POLL_RHYTHM, delayMs)) this.openWatch()
      this.fillAll()
      if (this.isWaiting) this.schedulePoll(delayMs)
    })
  }

  private openWatch(): void {
    const { directory, topic } = this.options
    const paths = this.splits.map(({ partition }) => partitionPath(directory, topic, partition))
    this.watch.open(paths.map(statusPath), () => {
      for (const split of this.splits) split.prefetcher.fillNow()
    })
  }

  protected override wakeUp(): void {
    if (this.isWaiting) {
      this.cancelPoll?.()
      this.watch.close()
    }
    super.wakeUp()
  }

  snapshot(): SourceSplit[] {
    if (this.origin === undefined) return []
    const origin = encodeOrigin(this.origin)
    return this.splits.map(({ partition, nextOffset }) => ({ partition, nextOffset, origin }))
  }

  checkpointCompleted(_checkpointId: number): void {
    // Only the checkpoint stores offsets; the embedded log has no consumer groups.
  }

  async close(): Promise<void> {
    this.wakeUp()
    this.cancelPoll?.()
    for (const split of this.splits) {
      split.stopListening()
      split.prefetcher.close()
    }
    this.splits.length = 0
    await this.settled()
    await this.deadLetterLog?.close()
    await this.closePolling()
  }
}
