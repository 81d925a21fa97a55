import { requireArgument } from '../../../core/errors.ts'
import { type Random, seededRandom } from '../../../core/random.ts'
import { penaltyFactor } from '../../../models/als/penalty.ts'
import { BIAS_COLUMNS, biasOfRow } from '../../../models/als/row.ts'
import type { AlsRowKind } from '../../../models/als/row-key.ts'
import type { AlsSettings, StartingRows } from './options.ts'
import type { AlsShare } from './share.ts'
import { type AlsSide, evidenceOf, matrixOf, type RatingsSource } from './sides.ts'

const SCALE = 0.1

/** Options of `initialiseFactors`. */
export interface InitialFactors {
  readonly table: Pick<RatingsSource, 'users' | 'items'>
  readonly settings: AlsSettings
  /** Mean rating. */
  readonly mean: number
  readonly startingRows?: StartingRows | undefined
}

/**
 * Fills both matrices with the starting rows, and other rows with small random factors. With explicit
 * feedback and no biases, the first factor starts at the mean rating of the row (items) or at 1
 * (users), as in Zhou et al., "Large-scale parallel collaborative filtering" (2008), so that the
 * first solve already explains the means. Starting rows of fewer factors fill the first ones: the others keep their small
 * random values. Throws INVALID_ARGUMENT for longer rows.
 */
export function initialiseFactors(share: AlsShare, options: InitialFactors): void {
  const { table, settings, startingRows } = options
  const random = seededRandom(settings.seed)
  const stride = share.strideBytes / 4
  for (const kind of ['U', 'I'] as const) {
    const side = kind === 'U' ? share.users : share.items
    const ids = kind === 'U' ? table.users : table.items
    const matrix = matrixOf(share, side)
    for (let r = 0; r < side.rows; r++) {
      const row = matrix.subarray(r * stride, r * stride + stride)
      randomRow(row, settings.factors, random)
      if (share.biased) row[settings.factors] = 1
      else if (share.implicit === undefined) row[0] = kind === 'I' ? rowMean(side, r) : 1
      const start = startingRows?.(kind, ids[r] as string)
      if (start !== undefined) copyServed(start, kind, row, options)
      side.penalties[r] = penaltyOf(share, side, r, row)
    }
  }
}

function randomRow(row: Float32Array, factors: number, random: Random): void {
  for (let i = 0; i < factors; i++) row[i] = SCALE * random.normal()
}

function rowMean(side: AlsSide, row: number): number {
  if (side.spilled !== undefined) return side.spilled.means[row] as number
  const from = side.offsets[row] as number
  const to = side.offsets[row + 1] as number
  let sum = 0
  for (let k = from; k < to; k++) sum += side.ratings[k] as number
  return sum / (to - from)
}

/** Copies a served row into a row of the matrix: the reverse of `servedRows` in `train.ts`. */
function copyServed(
  served: Float32Array,
  kind: AlsRowKind,
  row: Float32Array,
  { settings: { factors, biases }, mean }: InitialFactors,
): void {
  const others = biases ? BIAS_COLUMNS : 0
  const known = served.length - others
  requireArgument(
    known >= 0 && known <= factors,
    `a starting row has ${served.length} floats, and this training makes rows of ${factors + others}; use the biases of its model, and as many factors or more`,
  )
  row.set(served.subarray(0, known))
  if (biases) row[factors + 1] = biasOfRow(kind, served, mean)
}

/** Penalty of row number `row` with the given values. */
function penaltyOf(share: AlsShare, side: AlsSide, row: number, values: Float32Array): number {
  const { biased, penalty, regularization, biasRegularization, unknowns } = share
  const factors = biased ? unknowns - 1 : unknowns
  let squares = 0
  for (const factor of values.subarray(0, factors)) squares += factor * factor
  const bias = biased ? (values[factors + 1] as number) : 0
  return (
    penaltyFactor(penalty, evidenceOf(side, row)) *
    (regularization * squares + biasRegularization * bias * bias)
  )
}
