import type { ByteReader } from '../../../core/byte-reader.ts'
import type { ByteWriter } from '../../../core/byte-writer.ts'
import { requireArgument } from '../../../core/errors.ts'
import { malformed } from './frame.ts'

/*
 * List of job partitions in ascending order: their number, then each as the distance to the one before,
 * less one (so no list has one twice), all varuints. What belongs to a partition stands behind its number.
 *
 *   +-------+----------+---------+----------+---------+--
 *   | count | distance | (value) | distance | (value) | ...
 *   +-------+----------+---------+----------+---------+--
 */

/** Greatest number that a list keeps with a partition; more is written as this. */
export const MOST_VALUE = 2 ** 32 - 1

/** Writes partitions, 0 <= partition < partitions, in any order. Throws INVALID_ARGUMENT when one is there twice. */
export function writePartitions(out: ByteWriter, partitions: readonly number[]): void {
  out.varuint(partitions.length)
  let before = -1
  for (const partition of [...partitions].sort(ascending)) {
    requireArgument(partition > before, `partition ${partition} is in a list twice`)
    out.varuint(partition - before - 1)
    before = partition
  }
}

/** The partitions of a list, ascending. Throws MALFORMED_DATA for one that is not below `partitions`. */
export function readPartitions(reader: ByteReader, partitions: number): number[] {
  return readEntries(reader, partitions, (partition) => partition)
}

/** A partition with a number that belongs to it. */
export type Entry = readonly [partition: number, value: number]

/** Writes partitions with whole numbers >= 0; a number above 2^32 - 1 is written as that. */
export function writeEntries(out: ByteWriter, entries: readonly Entry[]): void {
  out.varuint(entries.length)
  let before = -1
  for (const [partition, value] of [...entries].sort((a, b) => a[0] - b[0])) {
    requireArgument(partition > before, `partition ${partition} is in a list twice`)
    out.varuint(partition - before - 1)
    out.varuint(Math.min(MOST_VALUE, Math.max(0, Math.ceil(value))))
    before = partition
  }
}

/** What `read` makes of each partition of a list; it takes what stands behind the partition. */
export function readEntries<T>(
  reader: ByteReader,
  partitions: number,
  read: (partition: number, reader: ByteReader) => T,
): T[] {
  const count = reader.varuint()
  if (count > partitions) throw malformed(`a list has ${count} of ${partitions} partitions`)
  const entries: T[] = []
  let before = -1
  for (let n = 0; n < count; n++) {
    const partition = before + 1 + reader.varuint()
    if (partition >= partitions) {
      throw malformed(`a list has partition ${partition} of ${partitions}`)
    }
    entries.push(read(partition, reader))
    before = partition
  }
  return entries
}

/** Order of numbers. */
export function ascending(a: number, b: number): number {
  return a - b
}
