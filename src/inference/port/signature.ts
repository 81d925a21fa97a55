import type { TensorDatatype } from './tensor.ts'

/** Description of one input or output of a model. */
export interface TensorSpec {
  readonly name: string
  readonly datatype: TensorDatatype
  /** Sizes of the dimensions; -1 is a dimension of any size. */
  readonly shape: readonly number[]
  /**
   * Dimension that counts the items of a batch. `null`: the tensor has no items (for example a sample
   * rate), and requests share a batch only if its bytes are equal. @default 0
   */
  readonly itemAxis?: number | null
}

/** Inputs and outputs of a model. */
export interface ModelSignature {
  readonly inputs: readonly TensorSpec[]
  readonly outputs: readonly TensorSpec[]
  /** Most items that one run takes: 1 for a model with a fixed batch of one; undefined when free. */
  readonly maxItems?: number
}

/** Dimension that counts the items of a tensor; null when it has none. */
export const itemAxisOf = ({ itemAxis }: Pick<TensorSpec, 'itemAxis'>): number | null =>
  itemAxis === undefined ? 0 : itemAxis
