import { isWeightless } from '../../core/feature.ts'
import type { SparseProduct, SparseVector } from '../../wire/model-reader.ts'

/** The features `from <= n < to` of a sparse vector, which are in one weight block. */
export interface FeatureBlock {
  /** Key of the block's row. */
  readonly key: string
  readonly from: number
  readonly to: number
}

/** The blocks of `dimension` weights that hold the features; ids rise. */
export function blocksOf(ids: Uint32Array, dimension: number): FeatureBlock[] {
  const blocks: FeatureBlock[] = []
  for (let from = 0; from < ids.length; ) {
    const block = Math.floor(ids[from]! / dimension)
    let to = from + 1
    while (to < ids.length && Math.floor(ids[to]! / dimension) === block) to++
    blocks.push({ key: String(block), from, to })
    from = to
  }
  return blocks
}

/**
 * The sparse product with weights that were fetched by block, undefined where there is no row.
 * Features without a weight (`isWeightless`) count as unknown.
 */
export function blockProducts(
  { ids, values }: SparseVector,
  blocks: readonly FeatureBlock[],
  weightsOf: (block: number) => Float32Array | undefined,
): SparseProduct {
  let sum = 0
  let unknown = 0
  blocks.forEach(({ from, to }, n) => {
    const weights = weightsOf(n)
    for (let k = from; k < to; k++) {
      const weight = weights === undefined ? 0 : weights[ids[k]! % weights.length]!
      if (isWeightless(ids[k]!, weight)) unknown++
      sum += weight * values[k]!
    }
  })
  return { sum, unknown }
}
