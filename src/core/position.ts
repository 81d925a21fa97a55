/** Where a record came from: a partition of the job's source and its offset there. */
export interface SourcePosition {
  /** Partition number; -1 when the record has no source (a timer's output). */
  readonly partition: number
  /** Offset of the record, 0 <= offset <= 2^53 - 1. */
  readonly offset: number
}

/** The position of what no source record caused. */
export const NO_POSITION: SourcePosition = { partition: -1, offset: 0 }
