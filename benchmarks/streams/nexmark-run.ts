import type { NexmarkQuery } from './nexmark-queries.ts'

/** One run of a query, on either side. */
export interface NexmarkRun {
  readonly query: NexmarkQuery
  /** Nothing is counted in the first so many seconds, and until so many events are read. */
  readonly warmUpSeconds: number
  readonly warmUpEvents: number
  /**
   * A side that has not read `warmUpEvents` after so many more seconds is measured then, for as many
   * seconds, with the smaller state that it has.
   */
  readonly warmUpLimitSeconds: number
  readonly measuredSeconds: number
  /** See `nexmarkEvent`. */
  readonly spread: number
  /** Memory for state in RocksDB, as Flink writes sizes; on the heap where it is undefined. */
  readonly budget: string | undefined
}

/** What one side measured. */
export interface NexmarkRate {
  readonly eventsPerSecond: number
  /** Events read before the measured time. */
  readonly eventsBefore: number
  /** Of the whole process, with compilation and garbage collection. */
  readonly cpuSecondsPerMillion: number
  /** The most memory of the process that was resident at one time. */
  readonly residentBytes: number
  /** Bytes of a savepoint at the end; Weir's side only, and only with a budget. */
  readonly stateBytes?: number
}
