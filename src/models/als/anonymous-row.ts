import { innerProduct } from '../../core/kernels/inner-product.ts'
import type { ImplicitTerms } from './implicit-terms.ts'
import { penaltyFactor } from './penalty.ts'
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
    addRow(gram, step, row, { weight: 1, pull: residual, constantColumn })
  }
  return moved(base, gram, step, REGULARIZATION * ratings.length)
}

/**
 * The row of a user from the events of a model of implicit feedback, each of another item: the row that its training
 * gives a user with these events (Hu, Koren and Volinsky 2008, section 4; preference p of an event is 1, of one below
 * 0 it is 0, and c = 1 + alpha |r| its confidence):
 *
 *   (Y^T Y + sum (c - 1) y y^T + lambda s(n) I) x = sum c p y
 *
 * `base` is undefined for a user without a row. The row of a user who has one takes the events into account besides
 * those that it was trained on, of which nothing is known but the row: it moves by the step d that minimises the same
 * objective around it, with Y^T Y + lambda s(n) I as its curvature. An event without a value has the value 1.
 */
export function implicitRow(
  base: Float32Array | undefined,
  events: readonly RatedRow[],
  { alpha, regularization, penalty, gram: all }: ImplicitTerms,
): Float32Array {
  const columns = base?.length ?? events[0]?.row.length ?? 0
  const from = base ?? new Float32Array(columns)
  const gram = Float64Array.from(all)
  const step = new Float64Array(columns)
  for (const { row, rating = 1 } of events) {
    const weight = alpha * Math.abs(rating)
    const preferred = rating > 0 ? 1 + weight : 0
    const pull = preferred - weight * innerProduct(from, 0, row, 0, columns)
    addRow(gram, step, row, { weight, pull, constantColumn: -1 })
  }
  return moved(from, gram, step, regularization * penaltyFactor(penalty, events.length))
}

/** What a row adds to the equations of another one. */
interface AddedRow {
  readonly weight: number
  readonly pull: number
  readonly constantColumn: number
}

function addRow(
  gram: Float64Array,
  step: Float64Array,
  row: Float32Array,
  { weight, pull, constantColumn }: AddedRow,
): void {
  for (let i = 0; i < row.length; i++) {
    if (i === constantColumn) continue
    step[i]! += pull * row[i]!
    for (let j = 0; j <= i; j++) {
      if (j !== constantColumn) gram[packedLength(i) + j]! += weight * row[i]! * row[j]!
    }
  }
}

/** The base row plus the solution of (gram + ridge I) d = step; the base row where there is none. */
function moved(
  base: Float32Array,
  gram: Float64Array,
  step: Float64Array,
  ridge: number,
): Float32Array {
  const columns = base.length
  for (let i = 0; i < columns; i++) gram[packedLength(i) + i]! += ridge
  if (!factorPacked(gram, columns)) return base
  solvePacked(gram, columns, step)
  return Float32Array.from(base, (value, i) => value + step[i]!)
}

/** Whether rows have the two columns of biases (`row.ts`): the mean rows of both sides show it. */
export function haveBiases(meanUser: Float32Array, meanItem: Float32Array): boolean {
  const last = meanUser.length - 1
  return meanUser[last] === 1 && meanItem[last - 1] === 1
}
