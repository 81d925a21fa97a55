import { innerProduct } from '../../kernels/inner-product.ts'
import { factorPacked, packedLength, solvePacked } from './small-symmetric.ts'

/** A row of the other side with a rating. */
export interface RatedRow {
  /** [columns] */
  readonly row: Float32Array
  /** The rating; undefined for one point more than the base row predicts. */
  readonly rating: number | undefined
}

/** Strength of the pull towards the base row, for each rating. */
const REGULARIZATION = 0.1

/**
 * The row of a user (or item) that the model does not know, from a few ratings: the base row plus the
 * step d that minimises sum (rating - (base + d) . row)^2 + 0.1 n |d|^2, n ratings (ridge regression, as the
 * solver of ALS-WR does for one row: Zhou et al. 2008, section 3.1). `constantColumn` of the row stays as
 * it is; -1 for none. Returns the base row if there are no ratings.
 */
export function anonymousRow(
  base: Float32Array,
  ratings: readonly RatedRow[],
  constantColumn: number,
): Float32Array {
  if (ratings.length === 0) return base
  const columns = base.length
  const gram = new Float64Array(packedLength(columns))
  const step = new Float64Array(columns)
  for (const { row, rating } of ratings) {
    const residual = rating === undefined ? 1 : rating - innerProduct(base, 0, row, 0, columns)
    addRating(gram, step, row, residual, constantColumn)
  }
  const ridge = REGULARIZATION * ratings.length
  for (let i = 0; i < columns; i++) gram[packedLength(i) + i]! += ridge
  if (!factorPacked(gram, columns)) return base
  solvePacked(gram, columns, step)
  return Float32Array.from(base, (value, i) => value + step[i]!)
}

function addRating(
  gram: Float64Array,
  step: Float64Array,
  row: Float32Array,
  residual: number,
  constantColumn: number,
): void {
  for (let i = 0; i < row.length; i++) {
    if (i === constantColumn) continue
    step[i]! += residual * row[i]!
    for (let j = 0; j <= i; j++) {
      if (j !== constantColumn) gram[packedLength(i) + j]! += row[i]! * row[j]!
    }
  }
}

/** Whether rows have the two columns of biases (`row.ts`): the mean rows of both sides show it. */
export function haveBiases(meanUser: Float32Array, meanItem: Float32Array): boolean {
  const last = meanUser.length - 1
  return meanUser[last] === 1 && meanItem[last - 1] === 1
}
