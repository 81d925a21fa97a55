import { GRAM_PARTS } from '../../als/solver/share.ts'
import { matrixOf } from '../../als/solver/sides.ts'
import type { BmfShare, BmfSide } from '../drawing/share.ts'

/**
 * Rows of a side as the device has them: [factors, 1, -bias, zeros], `[rows x width]`. In the share the bias follows
 * the constant 1, too.
 */
export function designRows(
  share: BmfShare,
  side: BmfSide,
  { rows, width }: { readonly rows: Uint32Array; readonly width: number },
): Float32Array {
  const matrix = matrixOf(share, side)
  const stride = share.strideBytes / 4
  const { unknowns } = share
  const design = new Float32Array(rows.length * width)
  for (const [b, row] of rows.entries()) {
    design.set(matrix.subarray(row * stride, row * stride + unknowns), b * width)
    design[b * width + unknowns] = -matrix[row * stride + unknowns]!
  }
  return design
}

/** Writes design rows of the device to the matrix of a side; `positions` has the position of each row. */
export function writeDesignRows(
  share: BmfShare,
  side: BmfSide,
  { design, positions, width }: { design: Float32Array; positions: Uint32Array; width: number },
): void {
  const matrix = matrixOf(share, side)
  const stride = share.strideBytes / 4
  const { unknowns } = share
  for (const [row, position] of positions.entries()) {
    const from = position * width
    matrix.set(design.subarray(from, from + unknowns), row * stride)
    matrix[row * stride + unknowns] = -design[from + unknowns]!
  }
}

/** Vectors of the rows of a side in the share, `[rows x unknowns]`. */
export interface RowVectors {
  readonly values: Float32Array
  readonly unknowns: number
}

/** The vectors of some rows, padded with zeros to `width` floats. */
export function paddedVectors(
  { values, unknowns }: RowVectors,
  rows: Uint32Array,
  width: number,
): Float32Array {
  const padded = new Float32Array(rows.length * width)
  for (const [b, row] of rows.entries()) {
    const from = row * unknowns
    padded.set(values.subarray(from, from + unknowns), b * width)
  }
  return padded
}

/** Writes padded vectors of the device to the rows; `positions` has the position of each row. */
export function writeVectors(
  { values, unknowns }: RowVectors,
  { padded, positions, width }: { padded: Float32Array; positions: Uint32Array; width: number },
): void {
  for (const [row, position] of positions.entries()) {
    const from = position * width
    values.set(padded.subarray(from, from + unknowns), row * unknowns)
  }
}

/**
 * Writes the sums of products of a side's batches, `[batches x width x width]`, to the parts of the share, from which
 * a chain takes them. The design row has the columns of a matrix row, but for the sign of the bias.
 */
export function writeSums(share: BmfShare, sums: Float32Array, width: number): void {
  const stride = share.strideBytes / 4
  const { unknowns } = share
  const size = GRAM_PARTS * stride * stride
  const parts = new Float32Array(share.memory.buffer, share.partsAddress, size).fill(0)
  for (let batch = 0; batch * width * width < sums.length; batch++) {
    const [from, to] = [batch * width * width, (batch % GRAM_PARTS) * stride * stride]
    for (let i = 0; i <= unknowns; i++) {
      for (let j = i; j <= unknowns; j++) {
        const sign = i < unknowns && j === unknowns ? -1 : 1
        parts[to + i * stride + j]! += sign * sums[from + i * width + j]!
      }
    }
  }
}
