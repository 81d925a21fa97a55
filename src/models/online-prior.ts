import { requireArgument } from '../core/errors.ts'
import { learnedColumns, type OnlineSide, type RowShape } from './online-rule.ts'
import type { RowMoments } from './row-moments.ts'
import { factorPacked, invertPacked, multiplyPacked, packedLength } from './small-symmetric.ts'

/** Moments of a batch model's rows. */
export interface ModelMoments {
  readonly user: RowMoments
  readonly item: RowMoments
}

/** Keeps covariances of few rows, or of rows that do not vary, invertible. */
const RIDGE = 1e-6

/**
 * What a batch model says about a row before its first rating: the learned columns are normal with
 * the mean and covariance of the side's rows. Packed matrices over the learned columns:
 *
 *   precision = s2 inverse(covariance),   shift = precision x mean
 */
export interface RowPrior {
  readonly columns: Int32Array
  readonly mean: Float64Array
  readonly precision: Float64Array
  readonly shift: Float64Array
  /** Mean of z z^T, z being what the other side's rows are in a rating of this row. */
  readonly regressors: Float64Array
}

/** The prior of a side; `s2` is the variance of a rating around its prediction. */
export function rowPrior(
  side: OnlineSide,
  shape: RowShape,
  moments: ModelMoments,
  s2: number,
): RowPrior {
  requireArgument(s2 > 0 && Number.isFinite(s2), `the noise is greater than 0, not ${s2}`)
  const columns = learnedColumns(side, shape)
  const n = columns.length
  const own = moments[side]
  const covariance = own.covariance(columns)
  for (let i = 0; i < n; i++) covariance[packedLength(i) + i]! += RIDGE
  const precision = invertPacked(covariance, n) ?? identity(n)
  for (let i = 0; i < precision.length; i++) precision[i]! *= s2
  const all = own.mean()
  const mean = Float64Array.from(columns, (column) => all[column]!)
  const shift = new Float64Array(n)
  multiplyPacked(precision, n, mean, shift)
  const other = moments[side === 'user' ? 'item' : 'user']
  return { columns, mean, precision, shift, regressors: other.secondMoments(columns) }
}

function identity(n: number): Float64Array {
  const packed = new Float64Array(packedLength(n))
  for (let i = 0; i < n; i++) packed[packedLength(i) + i] = 1
  return packed
}

/**
 * Factor of the Gram matrix of all rows of the other side, as fold-in solves with; undefined while
 * there are too few rows.
 */
export function regressorsFactor(prior: RowPrior, rows: number): Float64Array | undefined {
  const factor = prior.regressors.map((moment) => moment * rows)
  const n = prior.columns.length
  for (let i = 0; i < n; i++) factor[packedLength(i) + i]! += RIDGE
  return rows >= n && factorPacked(factor, n) ? factor : undefined
}
