import { requireArgument } from '../core/errors.ts'
import { type Random, seededRandom } from '../core/random.ts'
import { type AlsRowKind, biasOfRow } from '../models/als-row.ts'
import { type AlsSettings, penaltyFactor } from './als-options.ts'
import { type AlsShare, type AlsSide, matrixOf } from './als-share.ts'
import type { RatingsTable } from './ratings-table.ts'

/** A served row to start from (`models/als-row.ts`), or undefined where there is none. */
export type StartingRows = (kind: AlsRowKind, id: string) => Float32Array | undefined

const SCALE = 0.1

/**
 * Fills both matrices with starting rows where there are any, else with small random factors.
 * Explicit feedback without biases starts the first factor at the row's mean rating (items) or at 1
 * (users), as in Zhou et al., "Large-scale parallel collaborative filtering" (2008), so that the
 * first solve already explains the means. Throws INVALID_ARGUMENT for rows of another dimension.
 */
export function initialiseFactors(
  share: AlsShare,
  table: RatingsTable,
  settings: AlsSettings,
  mean: number,
  startingRows: StartingRows | undefined,
): void {
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
      if (start !== undefined) copyServed(row, start, kind, share, settings, mean)
      side.penalties[r] = penaltyOf(share, side, r, row, settings.factors)
    }
  }
}

function randomRow(row: Float32Array, factors: number, random: Random): void {
  for (let i = 0; i < factors; i++) row[i] = SCALE * random.normal()
}

function rowMean(side: AlsSide, row: number): number {
  const from = side.offsets[row] as number
  const to = side.offsets[row + 1] as number
  let sum = 0
  for (let k = from; k < to; k++) sum += side.ratings[k] as number
  return sum / (to - from)
}

/** The reverse of `servedRows` in `train-als.ts`. */
function copyServed(
  row: Float32Array,
  served: Float32Array,
  kind: AlsRowKind,
  share: AlsShare,
  settings: AlsSettings,
  mean: number,
): void {
  const { factors } = settings
  const expected = factors + (share.biased ? 2 : 0)
  requireArgument(
    served.length === expected,
    `a starting row has ${served.length} floats, ${expected} were expected; use the same factors and biases as the model it comes from`,
  )
  row.set(served.subarray(0, factors))
  if (share.biased) row[factors + 1] = biasOfRow(kind, served, mean)
}

function penaltyOf(
  share: AlsShare,
  side: AlsSide,
  row: number,
  values: Float32Array,
  factors: number,
): number {
  const count = (side.offsets[row + 1] as number) - (side.offsets[row] as number)
  let squares = 0
  for (const factor of values.subarray(0, factors)) squares += factor * factor
  const bias = share.biased ? (values[factors + 1] as number) : 0
  const scale = penaltyFactor(share.penalty, count)
  return scale * (share.regularization * squares + share.biasRegularization * bias * bias)
}
