import { murmur3 } from '../../core/hash/murmur3.ts'

const encoder = new TextEncoder()

/**
 * The partition of a model topic that a row is published to: the same for every version of the row.
 * `key` is the row key without version, `12-U`.
 */
export function rowPartition(key: string, partitions: number): number {
  return murmur3(encoder.encode(key)) % partitions
}
