import { requireArgument, WeirError } from '../../core/errors.ts'
import type { Source, SourceReader } from '../../operators/source.ts'
import {
  type LogRecord,
  logRecordDeserializer,
  type RecordDeserializer,
} from '../log/log-record.ts'
import { KafkaCluster } from './kafka-cluster.ts'
import { parseBrokers } from './kafka-connection.ts'
import type { OutOfRangePolicy } from './kafka-fetcher.ts'
import type { KafkaIsolation } from './kafka-offsets.ts'
import type { KafkaClientOptions } from './kafka-options.ts'
import { KafkaSourceReader } from './kafka-source-reader.ts'

/** Where a fresh job begins. Partitions that are found later begin at the earliest record. */
export type KafkaStart =
  | 'earliest'
  | 'latest'
  /** The first record at or after this time in ms. */
  | { readonly timestamp: number }
  /** What `groupId` committed; partitions without a commit begin as `otherwise` (earliest) says. */
  | { readonly committed: true; readonly otherwise?: 'earliest' | 'latest' }
  /** Partition to offset; partitions not named begin at the earliest. */
  | { readonly offsets: Readonly<Record<number, number>> }

/** What happens to a record that the deserializer refuses. */
export type KafkaUndecodablePolicy =
  | 'fail'
  /** Counted (`numRecordsUndecodable`) and left out. */
  | 'skip'
  /**
   * Counted and copied to this topic with the reason and the position in its headers. A checkpoint
   * waits until the copies are acknowledged, so none is lost.
   */
  | { readonly deadLetterTopic: string }

/** What a `KafkaSource` reads and how. */
export interface KafkaSourceOptions<T> extends KafkaClientOptions {
  readonly topic: string
  readonly deserialize: RecordDeserializer<T>
  /** Default `earliest`. */
  readonly start?: KafkaStart
  /** End at the offsets that exist when the reader gets its splits; default false. */
  readonly bounded?: boolean
  /** Default `read_committed`. */
  readonly isolation?: KafkaIsolation
  /** Default `fail`. */
  readonly undecodable?: KafkaUndecodablePolicy
  /**
   * Group whose committed offsets follow the completed checkpoints, so that lag tools see the job.
   * Nothing depends on it; a failed commit is counted (`commitsFailed`) and forgotten.
   */
  readonly groupId?: string
  /** Time between looks for new partitions in ms; default 30,000, 0 for none. */
  readonly discoveryIntervalMs?: number
  /** A partition is fetched while less than this is held of it; default 1 MiB. */
  readonly prefetchBytes?: number
  /** Largest answer for one partition; default 1 MiB. Held are up to `prefetchBytes` plus this. */
  readonly partitionMaxBytes?: number
  /** When the position is no longer in the partition; default `fail`, for records were lost. */
  readonly outOfRange?: OutOfRangePolicy
  /**
   * Which subtask reads a partition: `round-robin` (default) in turn; `key-groups` the one that owns
   * the partition's range of key groups, for topics that a sink with `partitioner: { keyGroups }`
   * wrote and `reinterpretAsKeyedStream`. It needs a multiple of the parallelism as partitions,
   * which then cannot be added.
   */
  readonly assignment?: 'round-robin' | 'key-groups'
  /** Whether the checksum of every batch is verified; default true. */
  readonly verifyChecksums?: boolean
}

/** What a `KafkaSource` of raw records reads and how. */
export type RawKafkaSourceOptions = Omit<KafkaSourceOptions<LogRecord>, 'deserialize'>

const DEFAULT_DISCOVERY_MS = 30_000

/**
 * Reads a topic of Kafka. Weir assigns the partitions and keeps the offsets in its checkpoints; no
 * consumer group is joined. Records of one partition keep their order.
 */
export class KafkaSource<T> implements Source<T> {
  readonly boundedness: 'bounded' | 'unbounded'
  readonly discoveryIntervalMs: number | undefined
  private readonly options: KafkaSourceOptions<T>
  private partitions: number | undefined

  constructor(options: KafkaSourceOptions<T>) {
    parseBrokers(options.brokers)
    const { start, groupId, discoveryIntervalMs = DEFAULT_DISCOVERY_MS } = options
    const fromCommitted = typeof start === 'object' && 'committed' in start
    requireArgument(
      !fromCommitted || groupId !== undefined,
      'start: { committed: true } needs the groupId whose offsets are meant',
    )
    this.options = options
    this.boundedness = options.bounded === true ? 'bounded' : 'unbounded'
    const byKeyGroups = options.assignment === 'key-groups'
    const isFixed = options.bounded === true || discoveryIntervalMs === 0 || byKeyGroups
    this.discoveryIntervalMs = isFixed ? undefined : discoveryIntervalMs
  }

  /** A source of whole records with bytes that the receiver may keep. */
  static raw(options: RawKafkaSourceOptions): KafkaSource<LogRecord> {
    return new KafkaSource({ ...options, deserialize: logRecordDeserializer })
  }

  async discover(): Promise<readonly number[]> {
    const cluster = new KafkaCluster(this.options)
    try {
      const { partitions } = await cluster.topic(this.options.topic)
      this.partitions = partitions.length
      return partitions.map((_, partition) => partition)
    } finally {
      await cluster.close()
    }
  }

  subtaskOf(partition: number, parallelism: number): number {
    const { assignment, topic } = this.options
    if (assignment !== 'key-groups') return partition % parallelism
    const { partitions } = this
    if (partitions === undefined) {
      throw new WeirError('ILLEGAL_STATE', 'discover the partitions before they are assigned')
    }
    requireArgument(
      partitions % parallelism === 0,
      `topic "${topic}" has ${partitions} partitions, which cannot be read by key groups at parallelism ${parallelism}: choose a parallelism that divides them, or call keyBy`,
    )
    return Math.floor((partition * parallelism) / partitions)
  }

  createReader(): SourceReader<T> {
    return new KafkaSourceReader(this.options)
  }
}
