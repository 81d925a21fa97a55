import type { WeirError } from '../core/errors.ts'
import { readUint16 } from './little-endian.ts'

/**
 * Pairs of keys as a PREDICT frame has them: for each pair the left key, then the right one, each its
 * length in bytes as uint16, then the bytes.
 */
export interface EncodedPairs {
  readonly count: number
  readonly bytes: Uint8Array
}

/** Predictions of encoded pairs, in their order. A pair has an error, or else the three numbers. */
export interface PairPredictions {
  readonly scores: Float32Array
  /** `ITEM_FLAG.leftCold` and `ITEM_FLAG.rightCold`. */
  readonly flags: Uint8Array
  readonly versions: Uint32Array
  readonly errors: ReadonlyMap<number, WeirError>
}

const decoder = new TextDecoder()

/** Where the pair after the one at `at` starts. */
export function nextPair(bytes: Uint8Array, at: number): number {
  const right = at + 2 + readUint16(bytes, at)
  return right + 2 + readUint16(bytes, right)
}

/** The keys of the pair at `at`. */
export function pairAt(bytes: Uint8Array, at: number): readonly [left: string, right: string] {
  const right = at + 2 + readUint16(bytes, at)
  const key = (start: number): string =>
    decoder.decode(bytes.subarray(start + 2, start + 2 + readUint16(bytes, start)))
  return [key(at), key(right)]
}
