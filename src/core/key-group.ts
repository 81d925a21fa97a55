import { requireArgument } from './errors.ts'
import { murmur3 } from './hash/murmur3.ts'

/** Upper limit of max parallelism, as in Flink. */
export const MAX_MAX_PARALLELISM = 32768

/** A contiguous range of key groups, `first <= group <= last`; empty when `last < first`. */
export interface KeyGroupRange {
  readonly first: number
  readonly last: number
}

/** The key group of a key: murmur3(key bytes) mod max parallelism. */
export function keyGroupOf(key: Uint8Array, maxParallelism: number): number {
  return keyGroupOfHash(murmur3(key), maxParallelism)
}

/** The key group of a key whose murmur3 hash is known, also as an int32. */
export function keyGroupOfHash(hash: number, maxParallelism: number): number {
  const lowBits = maxParallelism - 1
  // A remainder takes longer than the hash itself.
  return (lowBits & maxParallelism) === 0 ? hash & lowBits : (hash >>> 0) % maxParallelism
}

/**
 * The key groups of one subtask. Ranges of all subtasks are contiguous, disjoint and cover
 * 0 <= group < maxParallelism (Flink's KeyGroupRangeAssignment).
 */
export function keyGroupRangeOf(
  subtask: number,
  parallelism: number,
  maxParallelism: number,
): KeyGroupRange {
  checkParallelism(parallelism, maxParallelism)
  const first = Math.ceil((subtask * maxParallelism) / parallelism)
  const last = Math.ceil(((subtask + 1) * maxParallelism) / parallelism) - 1
  return { first, last }
}

/** The subtask that owns a key group; the inverse of `keyGroupRangeOf`. */
export function subtaskOfKeyGroup(
  group: number,
  parallelism: number,
  maxParallelism: number,
): number {
  return Math.floor((group * parallelism) / maxParallelism)
}

/** Whether `group` is in `range`. */
export function containsKeyGroup(range: KeyGroupRange, group: number): boolean {
  return group >= range.first && group <= range.last
}

/** The part of `a` that is also in `b`; undefined when there is none. */
export function intersectKeyGroups(a: KeyGroupRange, b: KeyGroupRange): KeyGroupRange | undefined {
  const first = Math.max(a.first, b.first)
  const last = Math.min(a.last, b.last)
  return first <= last ? { first, last } : undefined
}

/** Throws INVALID_ARGUMENT unless 0 < parallelism <= maxParallelism <= 32768. */
export function checkParallelism(parallelism: number, maxParallelism: number): void {
  requireArgument(
    Number.isInteger(maxParallelism) && maxParallelism > 0 && maxParallelism <= MAX_MAX_PARALLELISM,
    `max parallelism must be a whole number from 1 to ${MAX_MAX_PARALLELISM}, not ${maxParallelism}`,
  )
  requireArgument(
    Number.isInteger(parallelism) && parallelism > 0 && parallelism <= maxParallelism,
    `parallelism must be a whole number from 1 to the max parallelism ${maxParallelism}, not ${parallelism}`,
  )
}

/** Flink's default: 1.5 times the parallelism, rounded up to a power of two, from 128 to 32768. */
export function defaultMaxParallelism(parallelism: number): number {
  const rounded = 2 ** Math.ceil(Math.log2(parallelism * 1.5))
  return Math.min(Math.max(rounded, 128), MAX_MAX_PARALLELISM)
}
