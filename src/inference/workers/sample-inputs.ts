import { itemAxisOf, type ModelSignature, type TensorSpec } from '../port/signature.ts'
import { DATATYPE_BYTES, type Tensor } from '../port/tensor.ts'

/** Most items of a run that a deployment allows; 1 where requests run alone, because nothing is known of their rows. */
export function mostItemsOfRun({ alone, maxItems }: ModelSignature, most: number): number {
  return alone === undefined ? Math.min(most, maxItems ?? most) : 1
}

/** Inputs of zeros for so many items; other sizes that a request chooses are 1, and texts are empty. */
export function zeroInputs({ inputs }: ModelSignature, items: number): Tensor[] {
  return inputs.map((spec) => {
    const shape = spec.shape.map((size, d) => sizeOf(spec, size, d, items))
    const elements = shape.reduce((product, size) => product * size, 1)
    const { name, datatype } = spec
    // Four zero bytes are the length of an empty text.
    return {
      name,
      datatype,
      shape,
      data: new Uint8Array(elements * (DATATYPE_BYTES[datatype] || 4)),
    }
  })
}

/** The inputs in the order of the signature, with the number of their items; undefined when one is missing. */
export function orderedInputs(
  { inputs }: ModelSignature,
  given: readonly Tensor[],
): { readonly inputs: readonly Tensor[]; readonly items: number } | undefined {
  const ordered: Tensor[] = []
  let items = 1
  for (const spec of inputs) {
    const tensor = given.find(({ name }) => name === spec.name)
    if (tensor === undefined) return undefined
    ordered.push(tensor)
    const axis = itemAxisOf(spec)
    if (axis !== null) items = tensor.shape[axis] ?? 1
  }
  return { inputs: ordered, items }
}

function sizeOf(spec: TensorSpec, size: number, dimension: number, items: number): number {
  return size === -1 ? (dimension === itemAxisOf(spec) ? items : 1) : size
}
