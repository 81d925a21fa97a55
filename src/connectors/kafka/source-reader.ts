import type { SourceReader, SourceReaderContext, SourceSplit } from '../../operators/port/source.ts'
import { SplitReader } from '../records/split-reader.ts'
import {
  decodeOrigin,
  encodeOrigin,
  requireSameTopic,
  type TopicOrigin,
} from '../records/topic-origin.ts'
import { KafkaCluster, type KafkaTopic } from './client/cluster.ts'
import { commitOffsets, committedOffset, findOffset, type OffsetQuery } from './client/offsets.ts'
import { KafkaFetcher } from './fetcher.ts'
import { KafkaProducer } from './producer.ts'
import type { KafkaSourceOptions } from './source-options.ts'
import { KafkaSplit } from './split.ts'

const DEFAULT_PREFETCH_BYTES = 1024 * 1024
const DEFAULT_PARTITION_BYTES = 1024 * 1024

/** Reads the splits of one subtask; see `KafkaSource`. */
export class KafkaSourceReader<T> extends SplitReader<T, KafkaSplit> implements SourceReader<T> {
  private readonly options: KafkaSourceOptions<T>
  private cluster: KafkaCluster | undefined
  private fetcher: KafkaFetcher | undefined
  private deadLetterProducer: KafkaProducer | undefined
  private context: SourceReaderContext | undefined
  /** The topic when the reader got its splits: its offsets belong to no later topic of this name. */
  private origin: TopicOrigin | undefined
  /** The offsets of the last snapshot, for the group commit. */
  private stored: readonly SourceSplit[] = []
  private committing: Promise<void> | undefined

  constructor(options: KafkaSourceOptions<T>) {
    super(options)
    this.options = options
  }

  async open(context: SourceReaderContext): Promise<void> {
    const { topic, isolation, outOfRange, partitionMaxBytes } = this.options
    this.context = context
    context.metrics.gauge('prefetchedBytes', () =>
      this.splits.reduce((sum, split) => sum + split.heldBytes, 0),
    )
    const cluster = new KafkaCluster(this.options, { clock: context.clock, onOutage: context.warn })
    this.cluster = cluster
    context.metrics.gauge('brokerOutageMs', () => cluster.outageMs)
    this.fetcher = new KafkaFetcher(this.cluster, {
      topic,
      isolation: isolation ?? 'read_committed',
      outOfRange: outOfRange ?? 'fail',
      partitionMaxBytes: partitionMaxBytes ?? DEFAULT_PARTITION_BYTES,
      errors: context.metrics.counter('fetchErrors'),
      onReady: () => this.wakeUp(),
    })
    await this.openPolling(context, async (deadLetterTopic, makeSmaller) => {
      const options = { makeSmaller }
      this.deadLetterProducer = await KafkaProducer.open(this.cluster!, deadLetterTopic, options)
      return this.deadLetterProducer
    })
  }

  async addSplits(splits: readonly SourceSplit[]): Promise<void> {
    const now = originOf(await this.cluster!.topic(this.options.topic))
    if (this.origin !== undefined) requireSameTopic(this.origin, now)
    this.origin = now
    for (const { origin } of splits) {
      if (origin !== undefined) requireSameTopic(decodeOrigin(origin), now)
    }
    for (const added of await Promise.all(splits.map((split) => this.prepare(split)))) {
      this.splits.push(added)
      this.fetcher!.add(added)
    }
    this.wakeUp()
  }

  private async prepare({ partition, nextOffset, leaderEpoch }: SourceSplit): Promise<KafkaSplit> {
    const { bounded, prefetchBytes = DEFAULT_PREFETCH_BYTES, verifyChecksums = true } = this.options
    const start = nextOffset >= 0 ? nextOffset : await this.startOf(partition)
    const stopOffset = bounded === true ? await this.findOffset(partition, 'latest') : undefined
    return new KafkaSplit({
      partition,
      nextOffset: start,
      nextEpoch: nextOffset >= 0 ? (leaderEpoch ?? -1) : -1,
      stopOffset,
      prefetchBytes,
      verifyChecksums,
    })
  }

  private findOffset(partition: number, query: OffsetQuery): Promise<number> {
    const { topic, isolation = 'read_committed' } = this.options
    return findOffset(this.cluster!, { topic, partition, query, isolation })
  }

  private async startOf(partition: number): Promise<number> {
    const { topic, groupId, start = 'earliest' } = this.options
    if (typeof start === 'string' || 'timestamp' in start) {
      return await this.findOffset(partition, start)
    }
    if ('offsets' in start) {
      return start.offsets[partition] ?? (await this.findOffset(partition, 'earliest'))
    }
    const committed = await committedOffset(this.cluster!, groupId!, { topic, partition })
    if (committed >= 0) return committed
    return await this.findOffset(partition, start.otherwise ?? 'earliest')
  }

  protected override throwFailure(): void {
    super.throwFailure()
    const { failure } = this.fetcher!
    if (failure !== undefined) throw failure
  }

  protected override polled(split: KafkaSplit): void {
    if (split.wantsMore) this.fetcher!.wake()
  }

  /**
   * Looks nowhere, as each answer to a fetch says where the end was. Without it, a reader that waits for its first answer would
   * count as one that has read all.
   */
  reportEnds(): void {}

  snapshot(): SourceSplit[] {
    if (this.origin === undefined) return []
    const origin = encodeOrigin(this.origin)
    const splits = this.splits.map(({ partition, nextOffset, nextEpoch }) => ({
      partition,
      nextOffset,
      origin,
      ...(nextEpoch < 0 ? {} : { leaderEpoch: nextEpoch }),
    }))
    this.stored = splits
    return splits
  }

  checkpointCompleted(_checkpointId: number): void {
    const { groupId, topic } = this.options
    if (groupId === undefined || this.stored.length === 0 || this.committing !== undefined) return
    const { metrics } = this.context!
    this.committing = commitOffsets(this.cluster!, {
      group: groupId,
      topic,
      offsets: this.stored,
    })
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
    // Dead letters that are not durable yet are read and copied again after a restart.
    this.deadLetterProducer?.close()
    await this.cluster?.close()
    await stopped
    await this.closePolling()
    this.splits.length = 0
  }
}

function originOf({ name, topicId, partitions, clusterId }: KafkaTopic): TopicOrigin {
  return { topic: name, id: topicId, partitions: partitions.length, cluster: clusterId }
}
