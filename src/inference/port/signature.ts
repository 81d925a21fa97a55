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
  /** What each element of an input of BYTES is, where a transform takes it. @default the model says it */
  readonly takes?: InputContent
}

/** What a transform takes: a text, an encoded image, or an object of JSON. */
export type InputContent = 'text' | 'image' | 'json'

/** Inputs and outputs of a model. */
export interface ModelSignature {
  readonly inputs: readonly TensorSpec[]
  readonly outputs: readonly TensorSpec[]
  /** Most items that one run takes; undefined when free. */
  readonly maxItems?: number
  /**
   * Each row of the outputs depends on one row of the inputs only, so that requests may share a run. A module says so
   * itself; of an ONNX file it is worked out. @default false
   */
  readonly batches?: boolean
  /** The model answers in parts, as `LoadedModel.parts` gives them. @default false */
  readonly parts?: boolean
  /** Why each request runs alone, for people; undefined where requests may share a run. */
  readonly alone?: string
  /** Of a model with transforms: what the model itself takes and gives. */
  readonly bare?: ModelSignature
}

/** Axis of the items of tensors by their name; null for a tensor without items. */
export type ItemAxes = Readonly<Record<string, number | null>>

/** Size of the item axis of the inputs; 1 when no input has one. */
export function rowsOf(
  { inputs }: Pick<ModelSignature, 'inputs'>,
  tensors: readonly { readonly shape: readonly number[] }[],
): number {
  for (let i = 0; i < inputs.length; i++) {
    const axis = itemAxisOf(inputs[i]!)
    if (axis !== null) return tensors[i]!.shape[axis] ?? 1
  }
  return 1
}

/** Dimension that counts the items of a tensor; null when it has none. */
export const itemAxisOf = ({ itemAxis }: Pick<TensorSpec, 'itemAxis'>): number | null =>
  itemAxis === undefined ? 0 : itemAxis
