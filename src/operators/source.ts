import type { Clock } from '../core/clock.ts'
import type { MetricGroup } from '../core/metrics.ts'

/** A part of a source that is read in order by one reader, such as a topic partition. */
export interface SourceSplit {
  /** Number within the source, 0 <= partition < 2^31; the record's `position().partition`. */
  readonly partition: number
  /** Offset of the next record to read; -1 means the source's configured start. */
  readonly nextOffset: number
  /**
   * What the offset counts in, such as a topic's id; missing when the source has no such thing. It
   * comes back from a checkpoint as it was, for the reader to compare.
   */
  readonly origin?: string
}

/** What `poll` found. */
export type PollResult =
  /** Records were delivered and more may be there at once. */
  | 'more'
  /** Nothing can be delivered now; wait for `available()`. */
  | 'idle'
  /** Every split is at its end and no more will come. */
  | 'ended'

/** Receives what a reader reads. */
export interface SourceOutput<T> {
  /** One record; `timestamp` -1 when the source has none. */
  collect(value: T, timestamp: number, partition: number, offset: number): void
  /**
   * All records of the partition below `nextOffset` were delivered, also those that gave nothing
   * (control records, compaction gaps). `asOfMs` is the wall-clock time at which `nextOffset` was
   * seen to be the partition's end; missing when the end was not reached or is not known.
   */
  progress(partition: number, nextOffset: number, asOfMs?: number): void
}

/** Given to a reader when it opens. */
export interface SourceReaderContext {
  readonly subtask: number
  readonly parallelism: number
  readonly clock: Clock
  readonly metrics: MetricGroup
}

/**
 * Reads splits in one slot. `poll` is synchronous and never blocks; I/O happens behind `available`.
 * The reader bounds what it prefetches, so that a paused subtask stops it.
 */
export interface SourceReader<T> {
  open(context: SourceReaderContext): Promise<void>
  /** Adds splits, at start (restored or fresh) and when discovery finds new ones. */
  addSplits(splits: readonly SourceSplit[]): Promise<void>
  /** Delivers up to `maxRecords`. */
  poll(output: SourceOutput<T>, maxRecords: number): PollResult
  /** Resolves when `poll` may deliver again. At most one call is outstanding. */
  available(): Promise<void>
  /** Position of every split, as it must be stored to go on after the last delivered record. */
  snapshot(): SourceSplit[]
  /**
   * Resolves when what reading wrote on the side, such as dead letters, is durable: a checkpoint waits
   * for it. Undefined, or missing, when nothing is on its way.
   */
  settled?(): Promise<void> | undefined
  /** The checkpoint that holds `snapshot()` is durable (a group commit may follow). */
  checkpointCompleted(checkpointId: number): void
  close(): Promise<void>
}

/** A source: makes readers, and knows its splits. */
export interface Source<T> {
  /** Whether it ends (a file, a bounded range) or not. */
  readonly boundedness: 'bounded' | 'unbounded'
  /** Partitions that exist now. Called at start and, with `discoveryIntervalMs`, again. */
  discover(): Promise<readonly number[]>
  /** Time between discoveries; undefined when splits never change. */
  readonly discoveryIntervalMs: number | undefined
  /** The subtask that reads a partition; `partition mod parallelism` when missing. */
  subtaskOf?(partition: number, parallelism: number): number
  createReader(): SourceReader<T>
}
