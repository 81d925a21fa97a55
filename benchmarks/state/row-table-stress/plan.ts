import type { RowTableShare } from '../../../src/state/rows/share.ts'

/** Number of keys. The values of key i are i modulo KEYS, so that a row of another key is detected. */
export const KEYS = 4096
export const DIMENSION = 24
/** Rounds per key; few enough that values stay below 2^24, where float32 is exact. */
export const ROUNDS = 4000

/** Indexes of the shared counters. */
export const STOP = 0
export const READS = 1
/** Unit of READS, in rows. */
export const READS_PER_COUNT = 1024
export const VIOLATIONS = 2
export const COMPLETED = 3
export const COUNTERS = 16

/** Input of a reader thread. */
export interface StressReaderData {
  readonly share: RowTableShare
  readonly counters: SharedArrayBuffer
  readonly seed: number
}

/** Input of the writer thread. */
export interface StressWriterData {
  readonly counters: SharedArrayBuffer
  readonly seed: number
  /** Writes per version. New versions make tables grow from the start again. */
  readonly writesPerVersion: number
}

const encoder = new TextEncoder()

/** The keys' bytes. */
export function stressKeys(): Uint8Array[] {
  return Array.from({ length: KEYS }, (_, i) => encoder.encode(`key-${i}-U`))
}
