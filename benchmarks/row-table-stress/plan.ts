import type { RowTableShare } from '../../src/state/row-table-share.ts'

/** Keys; rows of key i hold values that are i modulo KEYS, so that a row of another key shows. */
export const KEYS = 4096
export const DIMENSION = 24
/** Values stay below 2^24, where float32 is exact. */
export const ROUNDS = 4000

/** Words of the shared counters. */
export const STOP = 0
export const READS = 1
/** READS counts rows that were read in units of so many. */
export const READS_PER_COUNT = 1024
export const VIOLATIONS = 2
export const COMPLETED = 3
export const COUNTERS = 16

/** What a reader thread is given. */
export interface StressReaderData {
  readonly share: RowTableShare
  readonly counters: SharedArrayBuffer
  readonly seed: number
}

/** What the writer thread is given. */
export interface StressWriterData {
  readonly counters: SharedArrayBuffer
  readonly seed: number
  /** Writes until a new version is begun, so that tables grow again and again. */
  readonly writesPerVersion: number
}

const encoder = new TextEncoder()

/** The keys' bytes. */
export function stressKeys(): Uint8Array[] {
  return Array.from({ length: KEYS }, (_, i) => encoder.encode(`key-${i}-U`))
}
