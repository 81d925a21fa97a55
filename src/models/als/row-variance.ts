/*
 * Variances of the ratings that a model predicts, as rows beside its own: `[part, 1]` of a user and `[1, part]` of an item.
 * Their inner product is the variance of a rating around its score: the noise of the user's ratings, and what training
 * has left open about the score.
 */

import type { AlsRowKind } from './row-key.ts'

/** Floats of a row of variances. */
export const VARIANCE_FLOATS = 2

/** The row of a part of a variance. */
export function varianceRow(kind: AlsRowKind, part: number): Float32Array {
  return kind === 'U' ? Float32Array.of(part, 1) : Float32Array.of(1, part)
}

/** Whether floats are a row of variances that a prediction can stand on. */
export function isVarianceRow(row: Float32Array): boolean {
  return row.length === VARIANCE_FLOATS && row.every((part) => Number.isFinite(part) && part >= 0)
}
