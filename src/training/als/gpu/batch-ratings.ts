import { penaltyFactor } from '../../../models/als/penalty.ts'
import type { RowBatch } from '../../gpu/batches.ts'
import type { AlsShare } from '../solver/share.ts'
import type { AlsSide } from '../solver/sides.ts'

/** Inputs of the solve graph for a batch; `indexes` are positions of the other side. */
export interface AlsBatchRatings {
  readonly indexes: Int32Array
  readonly weights: Float32Array
  readonly targets: Float32Array
  /** Penalty scaling of each row. */
  readonly scale: Float32Array
}

/**
 * The ratings of a batch, padded. Explicit: weight 1, the rating less the mean. Implicit, as in
 * `packConfident` of the CPU's kernel: weight c - 1 and target c p / (c - 1).
 */
export function batchRatings(
  share: AlsShare,
  { rows, length }: RowBatch,
  { side, otherPositions }: { readonly side: AlsSide; readonly otherPositions: Uint32Array },
): AlsBatchRatings {
  const indexes = new Int32Array(rows.length * length)
  const weights = new Float32Array(rows.length * length)
  const targets = new Float32Array(rows.length * length)
  const scale = new Float32Array(rows.length)
  for (let b = 0; b < rows.length; b++) {
    const row = rows[b] as number
    const from = side.offsets[row] as number
    const count = (side.offsets[row + 1] as number) - from
    scale[b] = penaltyFactor(share.penalty, count)
    for (let k = 0; k < count; k++) {
      const at = b * length + k
      const rating = side.ratings[from + k] as number
      const weight = share.implicit === undefined ? 1 : share.implicit.alpha * Math.abs(rating)
      indexes[at] = otherPositions[side.indexes[from + k] as number] as number
      weights[at] = weight
      targets[at] = share.implicit === undefined ? rating - share.mean : confident(rating, weight)
    }
  }
  return { indexes, weights, targets, scale }
}

const confident = (rating: number, weight: number): number =>
  rating > 0 && weight > 0 ? (1 + weight) / weight : 0

/** The part of a row's implicit objective that the solve graph does not compute. */
export function implicitConstant(share: AlsShare, side: AlsSide, row: number): number {
  if (share.implicit === undefined) return 0
  let sum = 0
  for (let k = side.offsets[row] as number; k < (side.offsets[row + 1] as number); k++) {
    const rating = side.ratings[k] as number
    const weight = share.implicit.alpha * Math.abs(rating)
    // c p^2 - (c - 1) target^2
    if (rating > 0 && weight > 0) sum += 1 + weight - (1 + weight) ** 2 / weight
  }
  return sum
}
