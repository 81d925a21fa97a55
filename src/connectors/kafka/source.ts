import { requireArgument, WeirError } from '../../core/errors.ts'
import { checkOptions } from '../../core/options/shape.ts'
import type { Source, SourceReader, SplitBounds } from '../../operators/port/source.ts'
import { type TopicRecord, topicRecordDeserializer } from '../records/topic-record.ts'
import { KafkaCluster } from './client/cluster.ts'
import { parseBrokers } from './client/connection.ts'
import { topicBounds } from './client/topic-bounds.ts'
import {
  KAFKA_SOURCE,
  type KafkaSourceOptions,
  type RawKafkaSourceOptions,
} from './source-options.ts'
import { KafkaSourceReader } from './source-reader.ts'

const DEFAULT_DISCOVERY_MS = 30_000
/** A person waits for the bounds of the topic. */
const BOUNDS_TIMEOUT_MS = 5000

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
    checkOptions('new KafkaSource', KAFKA_SOURCE, options)
    parseBrokers(options.brokers)
    const { start, groupId, discoveryIntervalMs = DEFAULT_DISCOVERY_MS } = options
    const fromCommitted = typeof start === 'object' && 'committed' in start
    requireArgument(
      !fromCommitted || groupId !== undefined,
      'start: { committed: true } needs a groupId, whose committed offsets are used',
    )
    this.options = options
    this.boundedness = options.bounded === true ? 'bounded' : 'unbounded'
    const byKeyGroups = options.assignment === 'key-groups'
    const isFixed = options.bounded === true || discoveryIntervalMs === 0 || byKeyGroups
    this.discoveryIntervalMs = isFixed ? undefined : discoveryIntervalMs
  }

  /** A source of whole records with bytes that the receiver may keep. */
  static raw(options: RawKafkaSourceOptions): KafkaSource<TopicRecord> {
    return new KafkaSource({ ...options, deserialize: topicRecordDeserializer })
  }

  async discover(warn?: (warning: WeirError) => void): Promise<readonly number[]> {
    const cluster = new KafkaCluster(this.options, { onOutage: warn })
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
      throw new WeirError(
        'ILLEGAL_STATE',
        'the partitions must be discovered before they are assigned',
      )
    }
    requireArgument(
      partitions % parallelism === 0,
      `topic "${topic}" has ${partitions} partitions, which cannot be read by key groups at parallelism ${parallelism}: choose a parallelism that divides them, or call keyBy`,
    )
    return Math.floor((partition * parallelism) / partitions)
  }

  get topic(): string {
    return this.options.topic
  }

  async bounds(): Promise<readonly SplitBounds[]> {
    const cluster = new KafkaCluster({ ...this.options, deliveryTimeoutMs: BOUNDS_TIMEOUT_MS })
    try {
      return await topicBounds(cluster, this.options.topic)
    } finally {
      await cluster.close()
    }
  }

  createReader(): SourceReader<T> {
    return new KafkaSourceReader(this.options)
  }
}
