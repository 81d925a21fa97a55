import {
  count,
  either,
  flag,
  kindOf,
  milliseconds,
  name,
  oneOf,
  required,
} from '../../core/options/kinds.ts'
import { nested, type OptionShape } from '../../core/options/shape.ts'
import { SPLIT_READER, type SplitReaderOptions } from '../records/split-reader.ts'
import {
  ISOLATION,
  type Isolation,
  STARTING_OFFSETS,
  type StartingOffsets,
} from '../records/topic-options.ts'
import type { TopicRecord } from '../records/topic-record.ts'
import { KAFKA_CLIENT, type KafkaClientOptions } from './client/options.ts'
import type { OutOfRangePolicy } from './fetcher.ts'

/** Where a new job begins. Partitions that are found later begin at the earliest record. */
export type KafkaStart =
  | StartingOffsets
  /** What `groupId` committed; partitions without a commit begin at `otherwise` (default earliest). */
  | { readonly committed: true; readonly otherwise?: 'earliest' | 'latest' }

/** Options of a `KafkaSource`. */
export interface KafkaSourceOptions<T> extends KafkaClientOptions, SplitReaderOptions<T> {
  /** Default `earliest`. */
  readonly start?: KafkaStart
  /** Default `read_committed`. */
  readonly isolation?: Isolation
  /**
   * Group whose committed offsets follow the completed checkpoints, so that lag tools see the job.
   * The job itself does not need them: a failed commit is counted (`commitsFailed`) and ignored.
   */
  readonly groupId?: string
  /** Time between two searches for new partitions in ms; default 30,000, 0 for none. */
  readonly discoveryIntervalMs?: number
  /** A partition is fetched while fewer bytes of it are held in memory; default 1 MiB. */
  readonly prefetchBytes?: number
  /** Largest answer for one partition; default 1 MiB. Up to `prefetchBytes` plus this is held. */
  readonly partitionMaxBytes?: number
  /**
   * When the position is no longer in the partition, or the log in front of it was truncated, as by an unclean
   * election of its leader; default `fail`, because records were lost. `earliest-of-truncation` continues after a
   * truncation where the log that was read ends, and fails otherwise.
   */
  readonly outOfRange?: OutOfRangePolicy
  /**
   * Which subtask reads a partition. `round-robin` (default): in turn. `key-groups`: the subtask that
   * owns the partition's range of key groups, for topics that a sink with
   * `partitioner: { keyGroups }` wrote and `reinterpretAsKeyedStream`. It needs a number of partitions
   * that is a multiple of the parallelism, and partitions cannot be added later.
   */
  readonly assignment?: 'round-robin' | 'key-groups'
  /** Whether the checksum of every batch is verified; default true. */
  readonly verifyChecksums?: boolean
}

/** The options of a `KafkaSource`. */
export const KAFKA_SOURCE: OptionShape<KafkaSourceOptions<unknown>> = {
  ...KAFKA_CLIENT,
  ...SPLIT_READER,
  start: either(
    STARTING_OFFSETS,
    nested<Extract<KafkaStart, { readonly committed: true }>>({
      committed: required(kindOf('true', (value) => value === true)),
      otherwise: oneOf('earliest', 'latest'),
    }),
  ),
  isolation: ISOLATION,
  groupId: name,
  discoveryIntervalMs: milliseconds,
  prefetchBytes: count,
  partitionMaxBytes: count,
  outOfRange: oneOf('fail', 'earliest', 'latest', 'earliest-of-truncation'),
  assignment: oneOf('round-robin', 'key-groups'),
  verifyChecksums: flag,
}

/** Options of a `KafkaSource` of raw records. */
export type RawKafkaSourceOptions = Omit<KafkaSourceOptions<TopicRecord>, 'deserialize'>
