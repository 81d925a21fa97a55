import type { Clock } from '../../core/clock.ts'
import type { WeirError } from '../../core/errors.ts'
import type { MetricGroup } from '../../core/metrics.ts'

/** A part of a source that one reader reads in order, such as a topic partition. */
export interface SourceSplit {
  /** Number within the source, 0 <= partition < 2^31; equal to `position().partition` of its records. */
  readonly partition: number
  /** Offset of the next record to read; -1 means the source's configured start. */
  readonly nextOffset: number
  /**
   * The thing to which the offset belongs, such as a topic's id; missing when the source has none. A
   * checkpoint restores it unchanged, so that the reader can compare it.
   */
  readonly origin?: string
  /**
   * Epoch of the leader that stored the record before `nextOffset`; missing where it is not known. The reader
   * finds out with it whether the log was truncated.
   */
  readonly leaderEpoch?: number
}

/** Result of `poll`. */
export type PollResult =
  /** Records were delivered, and there may be more. */
  | 'more'
  /** Nothing can be delivered now; wait for `available()`. */
  | 'idle'
  /** Every split is at its end, and there will be no more records. */
  | 'ended'

/** The receiver of a reader's records. */
export interface SourceOutput<T> {
  /** One record; `timestamp` -1 when the source has none. */
  collect(value: T, timestamp: number, partition: number, offset: number): void
  /**
   * Reports that all records of the partition below `nextOffset` are delivered, including offsets without a
   * record (control records, compaction gaps). `asOfMs` is the wall-clock time at which `nextOffset` was the
   * end of the partition; missing when the end is not reached or not known.
   */
  progress(partition: number, nextOffset: number, asOfMs?: number): void
}

/** Context of a reader, an argument of `open`. */
export interface SourceReaderContext {
  readonly subtask: number
  readonly parallelism: number
  readonly clock: Clock
  readonly metrics: MetricGroup
  /** Reports what a person should know while the reader goes on. */
  readonly warn?: ((warning: WeirError) => void) | undefined
}

/**
 * A reader of splits in one slot. `poll` is synchronous and never blocks; `available` waits for I/O. The
 * reader limits its prefetch, so that it stops reading when its subtask pauses.
 */
export interface SourceReader<T> {
  open(context: SourceReaderContext): Promise<void>
  /** Adds splits: at the start (restored or fresh), and when discovery finds new ones. */
  addSplits(splits: readonly SourceSplit[]): Promise<void>
  /** Delivers up to `maxRecords`. */
  poll(output: SourceOutput<T>, maxRecords: number): PollResult
  /**
   * Looks where the ends of the splits are now, without delivering records, and reports those splits that
   * are read to their end (`progress` with `asOfMs`). Called from time to time while the reader waits for
   * input. A reader without it counts as up to date while it waits.
   */
  reportEnds?(output: Pick<SourceOutput<T>, 'progress'>): void
  /**
   * Delivers no records of these partitions from now on, and those of all others: the event time of these is too far
   * ahead. The reader of a source without it stops as a whole. One with it has `reportEnds`: that it waits says nothing.
   */
  holdBack?(partitions: ReadonlySet<number>): void
  /** Resolves when `poll` may deliver records again. At most one call is outstanding. */
  available(): Promise<void>
  /** The position of every split after the last delivered record, for a checkpoint. */
  snapshot(): SourceSplit[]
  /**
   * Resolves when other writes of the reader, such as dead letters, are durable; a checkpoint waits for it.
   * Undefined or missing when there are no such writes in flight.
   */
  settled?(): Promise<void> | undefined
  /** Handles a durable checkpoint of `snapshot()`, for example with a group commit. */
  checkpointCompleted(checkpointId: number): void
  close(): Promise<void>
}

/** Offsets of a partition that exist: `start` inclusive, `end` exclusive. */
export interface SplitBounds {
  readonly partition: number
  readonly start: number
  readonly end: number
}

/** A source, which creates readers and discovers its splits. */
export interface Source<T> {
  /** Whether it ends (a file, a bounded range) or not. */
  readonly boundedness: 'bounded' | 'unbounded'
  /** Partitions that exist now. Called at start and, with `discoveryIntervalMs`, again. */
  discover(warn?: (warning: WeirError) => void): Promise<readonly number[]>
  /** Time between discoveries; undefined when splits never change. */
  readonly discoveryIntervalMs: number | undefined
  /** The subtask that reads a partition; `partition mod parallelism` when missing. */
  subtaskOf?(partition: number, parallelism: number): number
  /** Name of the topic that it reads; missing for a source of no topic. */
  readonly topic?: string
  /** The offsets of each partition that exist now; missing where no one knows them. */
  bounds?(): Promise<readonly SplitBounds[]>
  createReader(): SourceReader<T>
}
