import { alsWidth, type Kernels } from '../../../core/kernels/kernels.ts'
import type { WasmMemory } from '../../../core/lifetime/wasm-memory.ts'
import { type AlsImplicitShare, type AlsShare, GRAM_PARTS } from './share.ts'
import type { AlsSide } from './sides.ts'

/** Number of rows that stay in the first-level cache while all tiles of the matrix use them. */
const GRAM_SLICE = 64

/** One part of the rows of a side, and where its Gram matrix is summed. */
export interface GramPart {
  readonly side: AlsSide
  /** Number of the part, below `GRAM_PARTS`. */
  readonly part: number
  /** Address of the sums of the parts. */
  readonly partsAddress: number
}

/** Sums the upper triangle of the Gram matrix of one part, over every float of its rows. */
export function sumGramPart(
  kernels: Kernels,
  strideBytes: number,
  { side, part, partsAddress }: GramPart,
): void {
  const width = strideBytes / 4
  const bytes = 4 * width * width
  const gram = partsAddress + part * bytes
  new Uint8Array(kernels.memory.buffer, gram, bytes).fill(0)
  const end = Math.floor((side.rows * (part + 1)) / GRAM_PARTS)
  let row = Math.floor((side.rows * part) / GRAM_PARTS)
  for (; row < end; row += GRAM_SLICE) {
    const depth = Math.min(GRAM_SLICE, end - row)
    kernels.accumulateGram(side.address + row * strideBytes, depth, width, gram)
  }
}

/** Adds the parts in float64; both triangles, `[width x width]`. */
export function sumOfGramParts(
  memory: WasmMemory,
  partsAddress: number,
  width: number,
): Float64Array {
  const parts = new Float32Array(memory.buffer, partsAddress, GRAM_PARTS * width * width)
  const gram = new Float64Array(width * width)
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
  return gram
}

/** Adds the parts and writes the Gram matrix of implicit feedback. */
export function sumGramParts(
  share: AlsShare,
  { partsAddress, gramAddress }: AlsImplicitShare,
): void {
  const width = alsWidth(share.unknowns)
  const gram = new Float32Array(share.memory.buffer, gramAddress, width * width)
  gram.set(sumOfGramParts(share.memory, partsAddress, width))
}
