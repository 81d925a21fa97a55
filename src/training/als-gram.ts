import { alsWidth, type Kernels } from '../kernels/kernels.ts'
import type { AlsImplicitShare, AlsShare, AlsSide } from './als-share.ts'

/**
 * Parts in which a side's Gram matrix is summed. Fixed, and added up in order, so that the result
 * does not depend on the number of threads.
 */
export const GRAM_PARTS = 16

/** Rows that stay in the first-level cache while all tiles of the matrix pass over them. */
const GRAM_SLICE = 64

/** Bytes of one Gram matrix. */
export function gramBytes(unknowns: number): number {
  return 4 * alsWidth(unknowns) ** 2
}

/** Sums part number `part` of a side's rows; an upper triangle. */
export function sumGramPart(
  kernels: Kernels,
  share: AlsShare,
  implicit: AlsImplicitShare,
  side: AlsSide,
  part: number,
): void {
  const bytes = gramBytes(share.unknowns)
  const gram = implicit.partsAddress + part * bytes
  new Uint8Array(share.memory.buffer, gram, bytes).fill(0)
  const end = Math.floor((side.rows * (part + 1)) / GRAM_PARTS)
  let row = Math.floor((side.rows * part) / GRAM_PARTS)
  for (; row < end; row += GRAM_SLICE) {
    const depth = Math.min(GRAM_SLICE, end - row)
    const panel = side.address + row * share.strideBytes
    kernels.accumulateGram(panel, depth, alsWidth(share.unknowns), gram)
  }
}

/** Adds the parts up in float64 and writes both triangles of the whole matrix. */
export function sumGramParts(share: AlsShare, implicit: AlsImplicitShare): void {
  const width = alsWidth(share.unknowns)
  const parts = new Float32Array(
    share.memory.buffer,
    implicit.partsAddress,
    GRAM_PARTS * width * width,
  )
  const gram = new Float32Array(share.memory.buffer, implicit.gramAddress, width * width)
  for (let i = 0; i < width; i++) {
    for (let j = i; j < width; j++) {
      let sum = 0
      for (let at = i * width + j; at < parts.length; at += width * width) {
        sum += parts[at] as number
      }
      gram[i * width + j] = sum
      gram[j * width + i] = sum
    }
  }
}
