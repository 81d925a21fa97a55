import type { SourceReader, SourceReaderContext, SourceSplit } from '../../operators/source.ts'
import { SplitReader } from '../splits/split-reader.ts'
import { KafkaCluster } from './kafka-cluster.ts'
import { KafkaFetcher, topicChanged } from './kafka-fetcher.ts'
import { commitOffsets, committedOffset, findOffset } from './kafka-offsets.ts'
import { KafkaProducer } from './kafka-producer.ts'
import type { KafkaSourceOptions } from './kafka-source.ts'
import { KafkaSplit } from './kafka-split.ts'

const DEFAULT_PREFETCH_BYTES = 1024 * 1024
const DEFAULT_PARTITION_BYTES = 1024 * 1024

/** Reads the splits of one subtask; see `KafkaSource`. */
export class KafkaSourceReader<T> extends SplitReader<T, KafkaSplit> implements SourceReader<T> {
  private readonly options: KafkaSourceOptions<T>
  private cluster: KafkaCluster | undefined
  private fetcher: KafkaFetcher | undefined
  private deadLetterProducer: KafkaProducer | undefined
  private context: SourceReaderContext | undefined
  /** Kafka's id of the topic: it differs when the topic was deleted and created anew. */
  private topicId: string | undefined
  /** What the last checkpoint stored, for the group commit. */
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
    await this.openPolling(context.metrics, async (deadLetterTopic) => {
      this.deadLetterProducer = await KafkaProducer.open(this.cluster!, deadLetterTopic)
      return this.deadLetterProducer
    })
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

  protected override throwFailure(): void {
    super.throwFailure()
    const { failure } = this.fetcher!
    if (failure !== undefined) throw failure
  }

  protected override polled(split: KafkaSplit): void {
    if (split.isHungry) this.fetcher!.wake()
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
    // What is not durable yet is read and copied again after a restart.
    this.deadLetterProducer?.close()
    await this.cluster?.close()
    await stopped
    this.splits.length = 0
  }
}
