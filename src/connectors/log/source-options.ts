import { count, flag, milliseconds, name, required } from '../../core/options/kinds.ts'
import type { OptionShape } from '../../core/options/shape.ts'
import { SPLIT_READER, type SplitReaderOptions } from '../records/split-reader.ts'
import {
  ISOLATION,
  type Isolation,
  STARTING_OFFSETS,
  type StartingOffsets,
} from '../records/topic-options.ts'
import type { TopicRecord } from '../records/topic-record.ts'

/** Options of a `LogSource`. */
export interface LogSourceOptions<T> extends SplitReaderOptions<T> {
  readonly directory: string
  /** Default `earliest`. */
  readonly start?: StartingOffsets
  /** Default `read_committed`. */
  readonly isolation?: Isolation
  /** Time between two searches for new partitions in ms; default none. */
  readonly discoveryIntervalMs?: number
  /** Bytes read ahead per partition; default 1 MiB. Twice as much is held in memory. */
  readonly prefetchBytes?: number
  /** Whether the checksum of every batch is verified; default true. */
  readonly verifyChecksums?: boolean
}

/** The options of a `LogSource`. */
export const LOG_SOURCE: OptionShape<LogSourceOptions<unknown>> = {
  ...SPLIT_READER,
  directory: required(name),
  start: STARTING_OFFSETS,
  isolation: ISOLATION,
  discoveryIntervalMs: milliseconds,
  prefetchBytes: count,
  verifyChecksums: flag,
}

/** Options of a `LogSource` of raw records. */
export type RawLogSourceOptions = Omit<LogSourceOptions<TopicRecord>, 'deserialize'>
