import { penaltyFactor } from '../solver/options.ts'
import type { AlsShare } from '../solver/share.ts'
import type { AlsSide } from '../solver/sides.ts'

/** Rows of one side with about the same number of ratings, for one run of the solve graph. */
export interface AlsBatch {
  /** Row numbers, in the side's order. */
  readonly rows: Uint32Array
  /** Ratings of each row after padding. */
  readonly length: number
}

/** The rows of a side in the order in which the GPU stores them. */
export interface AlsBatchedSide {
  readonly batches: readonly AlsBatch[]
  /** Position of row r of the side in all batches, one after the other. */
  readonly positions: Uint32Array
}

/** Inputs of the solve graph for a batch; `indexes` are positions of the other side. */
export interface AlsBatchRatings {
  readonly indexes: Int32Array
  readonly weights: Float32Array
  readonly targets: Float32Array
  /** Penalty scaling of each row. */
  readonly scale: Float32Array
}

const SHORTEST = 8

/**
 * The length to which `count` ratings are padded: 8, 12, 16, 24, 32, 48 ... A row of more than 8
 * ratings grows by less than half, and there are few different shapes.
 */
export function paddedLength(count: number): number {
  let power = SHORTEST
  while (power * 2 < count) power *= 2
  if (count <= power) return power
  return count <= power * 1.5 ? power * 1.5 : power * 2
}

/** Groups the rows of a side by padded length into batches of at most `floats` gathered floats. */
export function batchSide(side: AlsSide, unknowns: number, floats: number): AlsBatchedSide {
  const byLength = new Map<number, number[]>()
  for (let row = 0; row < side.rows; row++) {
    const length = paddedLength((side.offsets[row + 1] as number) - (side.offsets[row] as number))
    const rows = byLength.get(length)
    if (rows === undefined) byLength.set(length, [row])
    else rows.push(row)
  }
  const batches: AlsBatch[] = []
  for (const [length, rows] of [...byLength].sort(([a], [b]) => a - b)) {
    const most = Math.max(1, Math.floor(floats / (length * unknowns)))
    for (let at = 0; at < rows.length; at += most) {
      batches.push({ rows: Uint32Array.from(rows.slice(at, at + most)), length })
    }
  }
  const positions = new Uint32Array(side.rows)
  let position = 0
  for (const { rows } of batches) for (const row of rows) positions[row] = position++
  return { batches, positions }
}

/**
 * The ratings of a batch, padded. Explicit: weight 1, the rating less the mean. Implicit, as in
 * `packConfident` of the CPU's kernel: weight c - 1 and target c p / (c - 1).
 */
export function batchRatings(
  share: AlsShare,
  { rows, length }: AlsBatch,
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
