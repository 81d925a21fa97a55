/** Where a record came from: a partition of a source of the job and its offset there. */
export interface SourcePosition {
  /** Partition number; -1 when the record has no source (a timer's output). */
  readonly partition: number
  /** Offset of the record, 0 <= offset <= 2^53 - 1. */
  readonly offset: number
  /** Number of the source: sources are counted from 0 in the order of the graph. @default 0 */
  readonly source?: number
}

/** Position of a source record, changed in place from record to record. */
export interface MutablePosition {
  partition: number
  offset: number
  source: number
}

/** The position of what no source record caused. */
export const NO_POSITION: SourcePosition = { partition: -1, offset: 0 }

/** Bits of a place below the number of the source. */
const PARTITION_BITS = 24
const PARTITION_MASK = 2 ** PARTITION_BITS - 1

/** Most sources of a job whose positions can be distinguished. */
export const MAX_SOURCES = 127

/**
 * Source and partition in 31 bits, as rows and the wire store them: a partition of the first source is
 * its own place, -1 stays -1.
 *
 *   | 0 | source: 7 bits | partition: 24 bits |
 */
export function placeOf(source: number, partition: number): number {
  return partition | (source << PARTITION_BITS)
}

/** Whether `placeOf` can hold a source and a partition. A larger number would be another place. */
export function isPlace(source: number, partition: number): boolean {
  return (
    Number.isInteger(source) &&
    source >= 0 &&
    source < MAX_SOURCES &&
    Number.isInteger(partition) &&
    partition >= -1 &&
    partition <= PARTITION_MASK
  )
}

/** The partition of a place; -1 for no place. */
export function partitionOfPlace(place: number): number {
  return place < 0 ? -1 : place & PARTITION_MASK
}

/** The source of a place; 0 for no place. */
export function sourceOfPlace(place: number): number {
  return place < 0 ? 0 : place >>> PARTITION_BITS
}
