import type { SplitReaderOptions } from '../records/split-reader.ts'
import type { Isolation, StartingOffsets } from '../records/topic-options.ts'
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

/** Options of a `LogSource` of raw records. */
export type RawLogSourceOptions = Omit<LogSourceOptions<TopicRecord>, 'deserialize'>
