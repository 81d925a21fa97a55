import type { RandomStreams } from '../../../core/random.ts'
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

/** The normal numbers of the rows of a batch, `[rows x unknowns]`: those that the CPU's drawer takes. */
export function batchNormals(
  rows: Uint32Array,
  { random, streams, unknowns }: NormalStreams,
): Float32Array {
  const normals = new Float32Array(rows.length * unknowns)
  let at = 0
  for (const row of rows) {
    random.seek(streams, row)
    for (let i = 0; i < unknowns; i++) normals[at++] = random.normal()
  }
  return normals
}

/** Where normal numbers come from. */
export interface NormalStreams {
  readonly random: RandomStreams
  /** Number of the streams of the sweep and the side (`streamsOf`). */
  readonly streams: number
  readonly unknowns: number
}
