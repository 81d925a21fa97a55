import type { RowBatch } from '../../gpu/batches.ts'
import type { BmfSide } from '../drawing/share.ts'

/** Padded ratings of a batch for the draw graph. */
export interface BmfBatchRatings {
  /** Positions of the other side's rows, `[rows x length]`. */
  readonly indexes: Int32Array
  /** Ratings less the mean, `[rows x length]`. */
  readonly ratings: Float32Array
}

/** Where the rows of the other side are on the device. */
export interface OtherRows {
  /** Position of row r. */
  readonly positions: Uint32Array
  /** Position of the row of zeros, which a padded rating gathers. */
  readonly zeros: number
}

/** The padded ratings of a batch of a side. */
export function batchRatings(
  { rows, length }: RowBatch,
  { side, mean }: { readonly side: BmfSide; readonly mean: number },
  { positions, zeros }: OtherRows,
): BmfBatchRatings {
  const indexes = new Int32Array(rows.length * length).fill(zeros)
  const ratings = new Float32Array(rows.length * length)
  for (const [b, row] of rows.entries()) {
    const from = side.offsets[row]!
    const count = side.offsets[row + 1]! - from
    for (let k = 0; k < count; k++) {
      indexes[b * length + k] = positions[side.indexes[from + k]!]!
      ratings[b * length + k] = side.ratings[from + k]! - mean
    }
  }
  return { indexes, ratings }
}
