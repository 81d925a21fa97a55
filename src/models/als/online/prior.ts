import { requireArgument } from '../../../core/errors.ts'
import type { RatingRange } from '../../ratings/rating.ts'
import type { RowMoments } from '../row-moments.ts'
import { factorPacked, invertPacked, multiplyPacked, packedLength } from '../small-symmetric.ts'
import { learnedColumns, type OnlineSide, type RowShape } from './rule.ts'

/** Moments of a batch model's rows. */
export interface ModelMoments {
  readonly user: RowMoments
  readonly item: RowMoments
}

/** Makes covariances of few rows, or of rows that do not vary, invertible. */
const RIDGE = 1e-6

/**
 * Prior of a row from the batch model: before the first rating, the learned columns have a normal
 * distribution with mean and covariance of the side's rows. Packed matrices over the learned columns:
 *
 *   precision = s2 inverse(covariance),   shift = precision x mean
 */
export interface RowPrior {
  readonly columns: Int32Array
  readonly mean: Float64Array
  readonly precision: Float64Array
  readonly shift: Float64Array
  /** Mean of z z^T, where z is a row of the other side. */
  readonly regressors: Float64Array
}

/**
 * Variance of a rating around its prediction, by the error of a model on the ratings that it was trained on; undefined where
 * that is not known. A model that fits them exactly has a twentieth of their range as its error.
 */
export function ratingNoise(trainRmse: number | undefined, range: RatingRange): number | undefined {
  const width = range.max - range.min
  if (trainRmse === undefined || !(width > 0 && width < Number.POSITIVE_INFINITY)) return undefined
  return Math.max(trainRmse, width / 20) ** 2
}

/** Options of a prior. */
export interface RowPriorOptions {
  readonly side: OnlineSide
  readonly shape: RowShape
  readonly moments: ModelMoments
  /** Variance of a rating around its prediction (s2). */
  readonly noise: number
}

/** The prior of a side. Throws INVALID_ARGUMENT. */
export function rowPrior({ side, shape, moments, noise: s2 }: RowPriorOptions): RowPrior {
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
 * Factor of the Gram matrix of all rows of the other side plus the precision of the prior, for fold-in; undefined while
 * there are too few rows.
 */
export function regressorsFactor(prior: RowPrior, rows: number): Float64Array | undefined {
  const { regressors, precision } = prior
  const factor = regressors.map((moment, i) => moment * rows + precision[i]!)
  const n = prior.columns.length
  for (let i = 0; i < n; i++) factor[packedLength(i) + i]! += RIDGE
  return rows >= n && factorPacked(factor, n) ? factor : undefined
}
