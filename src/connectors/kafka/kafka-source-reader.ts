import { messageOf, WeirError } from '../../core/errors.ts'
import type { Counter } from '../../core/metrics.ts'
import type {
  PollResult,
  SourceOutput,
  SourceReader,
  SourceReaderContext,
  SourceSplit,
} from '../../operators/source.ts'
import { DeadLetters } from './dead-letters.ts'
import { KafkaCluster } from './kafka-cluster.ts'
import { KafkaFetcher, topicChanged } from './kafka-fetcher.ts'
import { commitOffsets, committedOffset, findOffset } from './kafka-offsets.ts'
import type { KafkaSourceOptions } from './kafka-source.ts'
import { KafkaSplit } from './kafka-split.ts'

const DEFAULT_PREFETCH_BYTES = 1024 * 1024
const DEFAULT_PARTITION_BYTES = 1024 * 1024

/** Reads the splits of one subtask; see `KafkaSource`. */
export class KafkaSourceReader<T> implements SourceReader<T> {
  private readonly options: KafkaSourceOptions<T>
  private readonly splits: KafkaSplit[] = []
  private cluster: KafkaCluster | undefined
  private fetcher: KafkaFetcher | undefined
  private deadLetters: DeadLetters | undefined
  private context: SourceReaderContext | undefined
  private undecodable: Counter | undefined
  private skipped: Counter | undefined
  /** Kafka's id of the topic: it differs when the topic was deleted and created anew. */
  private topicId: string | undefined
  private failure: unknown
  private next = 0
  private wake: (() => void) | undefined
  /** What the last checkpoint stored, for the group commit. */
  private stored: readonly SourceSplit[] = []
  private committing: Promise<void> | undefined

  constructor(options: KafkaSourceOptions<T>) {
    this.options = options
  }

  async open(context: SourceReaderContext): Promise<void> {
    const { topic, isolation, outOfRange, partitionMaxBytes, undecodable } = this.options
    this.context = context
    this.undecodable = context.metrics.counter('numRecordsUndecodable')
    this.skipped = context.metrics.counter('numRecordsSkipped')
    context.metrics.gauge('prefetchedBytes', () =>
      this.splits.reduce((sum, split) => sum + split.heldBytes, 0),
    )
    this.cluster = new KafkaCluster(this.options, { clock: context.clock })
    this.fetcher = new KafkaFetcher(
      this.cluster,
      {
        topic,
        isolation: isolation ?? 'read_committed',
        outOfRange: outOfRange ?? 'fail',
        partitionMaxBytes: partitionMaxBytes ?? DEFAULT_PARTITION_BYTES,
      },
      context.metrics.counter('fetchErrors'),
      () => this.wakeUp(),
    )
    if (typeof undecodable === 'object') {
      this.deadLetters = await DeadLetters.open(this.cluster, topic, undecodable.deadLetterTopic)
    }
  }

  async addSplits(splits: readonly SourceSplit[]): Promise<void> {
    const { topicId } = await this.cluster!.topic(this.options.topic)
    this.topicId ??= topicId
    for (const { origin } of splits) {
      if (origin !== undefined && origin !== topicId) throw topicChanged(this.options.topic)
    }
    for (const added of await Promise.all(splits.map((split) => this.prepare(split)))) {
      this.splits.push(added)
      this.fetcher!.add(added)
    }
    this.wakeUp()
  }

  private async prepare({ partition, nextOffset }: SourceSplit): Promise<KafkaSplit> {
    const { topic, bounded, isolation = 'read_committed' } = this.options
    const cluster = this.cluster!
    const start = nextOffset >= 0 ? nextOffset : await this.startOf(partition)
    const stop =
      bounded === true
        ? await findOffset(cluster, topic, partition, 'latest', isolation)
        : undefined
    const { prefetchBytes = DEFAULT_PREFETCH_BYTES, verifyChecksums = true } = this.options
    return new KafkaSplit(partition, start, stop, prefetchBytes, verifyChecksums)
  }

  private async startOf(partition: number): Promise<number> {
    const { topic, groupId, start = 'earliest', isolation = 'read_committed' } = this.options
    const cluster = this.cluster!
    if (typeof start === 'string' || 'timestamp' in start) {
      return await findOffset(cluster, topic, partition, start, isolation)
    }
    if ('offsets' in start) {
      const given = start.offsets[partition]
      return given ?? (await findOffset(cluster, topic, partition, 'earliest', isolation))
    }
    const committed = await committedOffset(cluster, groupId!, topic, partition)
    if (committed >= 0) return committed
    return await findOffset(cluster, topic, partition, start.otherwise ?? 'earliest', isolation)
  }

  poll(output: SourceOutput<T>, maxRecords: number): PollResult {
    this.throwFailure()
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

  private throwFailure(): void {
    const failure = this.failure ?? this.fetcher!.failure
    if (failure !== undefined) throw failure
  }

  private hasEnded(): boolean {
    return this.options.bounded === true && this.splits.every((split) => split.isAtEnd)
  }

  private pending(): PollResult {
    return this.splits.some((split) => split.isReady) ? 'more' : 'idle'
  }

  /** Delivers up to `max` records of a split and returns how many it was. */
  private pollSplit(split: KafkaSplit, output: SourceOutput<T>, max: number): number {
    if (!split.isReady) return 0
    const before = split.nextOffset
    let delivered = 0
    while (delivered < max && !split.blocked && !split.isAtEnd && split.openBatch()) {
      delivered += this.pollBatch(split, output, max - delivered)
    }
    if (split.isHungry) this.fetcher!.wake()
    const endSeen = split.takeEndSeen()
    if (split.nextOffset !== before || endSeen !== undefined) {
      output.progress(split.partition, split.nextOffset, endSeen)
    }
    return delivered
  }

  private pollBatch(split: KafkaSplit, output: SourceOutput<T>, max: number): number {
    const { batch, partition } = split
    const deserialize = this.options.deserialize
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
      try {
        value = deserialize(batch, partition)
        if (value === undefined) this.skipped!.value += 1
      } catch (cause) {
        if (!this.refuse(split, cause)) break
      }
      split.nextOffset = offset + 1
      delivered += 1
      if (value !== undefined) output.collect(value, batch.timestamp, partition, offset)
    }
    return delivered
  }

  /** Whether the position may move past the refused record now. */
  private refuse(split: KafkaSplit, cause: unknown): boolean {
    this.undecodable?.increment()
    const { topic, undecodable = 'fail' } = this.options
    const { partition, batch } = split
    if (undecodable === 'skip') return true
    if (undecodable === 'fail') {
      const message = `record ${batch.offset} of ${topic}/${partition} cannot be decoded: ${messageOf(cause)}`
      const details = { topic, partition, offset: batch.offset }
      throw new WeirError('UNPARSABLE_RECORD', message, { cause, details })
    }
    const after = batch.offset + 1
    split.blocked = true
    this.deadLetters!.send(batch, partition, cause).then(
      () => {
        split.blocked = false
        split.nextOffset = after
        this.wakeUp()
      },
      (error: unknown) => {
        this.failure ??= error
        this.wakeUp()
      },
    )
    return false
  }

  available(): Promise<void> {
    const failed = this.failure ?? this.fetcher!.failure
    if (failed !== undefined || this.pending() === 'more' || this.hasEnded()) {
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      this.wake = resolve
    })
  }

  private wakeUp(): void {
    const wake = this.wake
    this.wake = undefined
    wake?.()
  }

  snapshot(): SourceSplit[] {
    const origin = this.topicId!
    const splits = this.splits.map(({ partition, nextOffset }) => ({
      partition,
      nextOffset,
      origin,
    }))
    this.stored = splits
    return splits
  }

  checkpointCompleted(_checkpointId: number): void {
    const { groupId, topic } = this.options
    if (groupId === undefined || this.stored.length === 0 || this.committing !== undefined) return
    const { metrics } = this.context!
    this.committing = commitOffsets(this.cluster!, groupId, topic, this.stored)
      .then(() => metrics.counter('commitsSucceeded').increment())
      .catch(() => metrics.counter('commitsFailed').increment())
      .finally(() => {
        this.committing = undefined
      })
  }

  async close(): Promise<void> {
    this.wakeUp()
    await this.committing
    const stopped = this.fetcher?.close()
    this.deadLetters?.close()
    await this.cluster?.close()
    await stopped
    this.splits.length = 0
  }
}
