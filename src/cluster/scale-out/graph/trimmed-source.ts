import { KafkaCluster } from '../../../connectors/kafka/client/cluster.ts'
import { deleteKafkaRecords } from '../../../connectors/kafka/client/delete-records.ts'
import type { KafkaClientOptions } from '../../../connectors/kafka/client/options.ts'
import { asWeirError } from '../../../core/errors.ts'
import type {
  Source,
  SourceReader,
  SourceReaderContext,
  SourceSplit,
} from '../../../operators/port/source.ts'

/** Time between two deletions, ms. */
const EVERY_MS = 10_000

/** What a trimmed source reads. */
export interface TrimmedSourceOptions<T> {
  readonly source: Source<T>
  readonly kafka: KafkaClientOptions
  readonly topic: string
  /** Checkpoints that a restart may restore. */
  readonly retained: number
}

/**
 * A source of a topic that only this job reads: records that no retained checkpoint needs are deleted from it, as
 * Kafka Streams purges its repartition topics.
 */
export function trimmedSource<T>(options: TrimmedSourceOptions<T>): Source<T> {
  const { source } = options
  return {
    boundedness: source.boundedness,
    discoveryIntervalMs: source.discoveryIntervalMs,
    discover: (warn) => source.discover(warn),
    ...(source.topic === undefined ? {} : { topic: source.topic }),
    bounds: async () => (await source.bounds?.()) ?? [],
    createReader: () => new TrimmingReader(options),
  }
}

class TrimmingReader<T> implements SourceReader<T> {
  private readonly options: TrimmedSourceOptions<T>
  private readonly reader: SourceReader<T>
  private context: SourceReaderContext | undefined
  private latest: readonly SourceSplit[] = []
  /** Positions of the last completed checkpoints, oldest first. */
  private readonly completed: (readonly SourceSplit[])[] = []
  private dueMs = 0
  private deleting: Promise<void> | undefined
  private hasFailed = false

  constructor(options: TrimmedSourceOptions<T>) {
    this.options = options
    this.reader = options.source.createReader()
  }

  open(context: SourceReaderContext): Promise<void> {
    this.context = context
    this.dueMs = context.clock.monotonicMs() + EVERY_MS
    return this.reader.open(context)
  }

  addSplits(splits: readonly SourceSplit[]): Promise<void> {
    return this.reader.addSplits(splits)
  }

  poll(output: Parameters<SourceReader<T>['poll']>[0], maxRecords: number) {
    return this.reader.poll(output, maxRecords)
  }

  reportEnds(output: Parameters<NonNullable<SourceReader<T>['reportEnds']>>[0]): void {
    this.reader.reportEnds?.(output)
  }

  holdBack(partitions: ReadonlySet<number>): void {
    this.reader.holdBack?.(partitions)
  }

  available(): Promise<void> {
    return this.reader.available()
  }

  snapshot(): SourceSplit[] {
    const splits = this.reader.snapshot()
    this.latest = splits
    return splits
  }

  settled(): Promise<void> | undefined {
    return this.reader.settled?.()
  }

  /**
   * The newest snapshot may be of a later checkpoint than the completed one, so one more than those that are retained
   * is kept.
   */
  checkpointCompleted(checkpointId: number): void {
    this.reader.checkpointCompleted(checkpointId)
    this.completed.push(this.latest)
    if (this.completed.length <= this.options.retained + 1) return
    const unneeded = this.completed.shift()!
    const nowMs = this.context!.clock.monotonicMs()
    if (nowMs < this.dueMs || this.deleting !== undefined || this.hasFailed) return
    this.dueMs = nowMs + EVERY_MS
    this.deleting = this.trim(unneeded).finally(() => {
      this.deleting = undefined
    })
  }

  async close(): Promise<void> {
    await this.reader.close()
    await this.deleting
  }

  private async trim(splits: readonly SourceSplit[]): Promise<void> {
    const { kafka, topic } = this.options
    const cluster = new KafkaCluster({ ...kafka, deliveryTimeoutMs: EVERY_MS })
    try {
      for (const { partition, nextOffset } of splits) {
        if (nextOffset > 0)
          await deleteKafkaRecords(cluster, { topic, partition, before: nextOffset })
      }
    } catch (cause) {
      const error = asWeirError(cause, 'CONNECTOR_FAILED')
      // The records cost space until the next try; without the right to delete them, forever.
      this.hasFailed = !error.retryable
      if (this.hasFailed) this.context?.warn?.(error)
    } finally {
      await cluster.close()
    }
  }
}
