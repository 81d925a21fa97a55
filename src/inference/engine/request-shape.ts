import { WeirError } from '../../core/errors.ts'
import { murmur3 } from '../../core/hash/murmur3.ts'
import type { Deployment } from '../port/deployment.ts'
import { itemAxisOf, type ModelSignature, rowsOf, type TensorSpec } from '../port/signature.ts'
import { DATATYPE_BYTES, type Tensor } from '../port/tensor.ts'
import { mostRowsOf } from './deployment-plan.ts'

/** Inputs of a request in the order of the signature, with what the queue needs. */
export interface ShapedRequest {
  readonly inputs: readonly Tensor[]
  /** Size of the item axis; 1 when no input has one, or when the request runs alone. */
  readonly items: number
  /** Hash of all that must be equal within a batch: other dimensions, bytes of inputs without items. */
  readonly bucket: number
}

/** Checks the inputs of a request against a signature. Throws SIGNATURE_MISMATCH. */
export function shapeRequest(signature: ModelSignature, given: readonly Tensor[]): ShapedRequest {
  const specs = signature.inputs
  if (given.length !== specs.length) throw mismatchOfNames(specs, given)
  const inputs = isOrdered(specs, given) ? given : ordered(specs, given)
  if (signature.alone !== undefined) {
    for (let i = 0; i < specs.length; i++) requireFit(specs[i]!, inputs[i]!)
    return { inputs, items: 1, bucket: 0 }
  }
  let items = -1
  let bucket = 0
  for (let i = 0; i < specs.length; i++) {
    const spec = specs[i]!
    const tensor = inputs[i]!
    requireFit(spec, tensor)
    const axis = itemAxisOf(spec)
    if (axis === null) {
      bucket = mix(bucket, murmur3(tensor.data))
    } else if (items === -1) items = tensor.shape[axis]!
    else if (tensor.shape[axis] !== items) throw unequalItems(tensor, axis, items)
    for (let d = 0; d < tensor.shape.length; d++) {
      if (d !== axis) bucket = mix(bucket, tensor.shape[d]!)
    }
  }
  // Requests without items share no run with others: an output of theirs says nothing about where it belongs.
  if (items === 0) bucket = mix(bucket, -1)
  return { inputs, items: items === -1 ? 1 : items, bucket }
}

/** Refuses a request that runs alone and has more rows than a run may have. Throws SIGNATURE_MISMATCH. */
export function requireRows(
  { inputs }: ShapedRequest,
  signature: ModelSignature,
  deployment: Deployment,
): void {
  const [rows, most] = [rowsOf(signature, inputs), mostRowsOf(signature, deployment)]
  if (rows <= most) return
  throw new WeirError(
    'SIGNATURE_MISMATCH',
    `the request has ${rows} items, max-batch is ${most}, and it cannot be split (${signature.alone}); send at most ${most}, or raise max-batch`,
  )
}

const mix = (hash: number, value: number): number =>
  (Math.imul(hash ^ value, 0x9e3779b1) + 0x7f4a7c15) | 0

function isOrdered(specs: readonly TensorSpec[], given: readonly Tensor[]): boolean {
  for (let i = 0; i < specs.length; i++) if (given[i]!.name !== specs[i]!.name) return false
  return true
}

function ordered(specs: readonly TensorSpec[], given: readonly Tensor[]): readonly Tensor[] {
  return specs.map((spec) => {
    const tensor = given.find(({ name }) => name === spec.name)
    if (tensor === undefined) throw mismatchOfNames(specs, given)
    return tensor
  })
}

function requireFit(spec: TensorSpec, { name, datatype, shape, data }: Tensor): void {
  const axis = itemAxisOf(spec)
  let elements = 1
  let fits = datatype === spec.datatype && shape.length === spec.shape.length
  for (let d = 0; fits && d < shape.length; d++) {
    const size = shape[d]!
    elements *= size
    fits =
      Number.isSafeInteger(size) &&
      size >= 0 &&
      (d === axis || spec.shape[d] === -1 || spec.shape[d] === size)
  }
  if (!fits) {
    throw new WeirError(
      'SIGNATURE_MISMATCH',
      `the input "${name}" is ${datatype} [${shape.join(', ')}]; the model expects ${spec.datatype} [${spec.shape.join(', ')}], where -1 is any size`,
    )
  }
  const bytes = elements * DATATYPE_BYTES[datatype]
  const isWhole = datatype === 'BYTES' ? areStrings(data, elements) : data.length === bytes
  if (isWhole) return
  throw new WeirError(
    'SIGNATURE_MISMATCH',
    `the input "${name}" has ${data.length} bytes, which are not ${elements} elements of ${datatype}`,
  )
}

function areStrings(data: Uint8Array, elements: number): boolean {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  let at = 0
  for (let i = 0; i < elements; i++) {
    if (at + 4 > data.length) return false
    at += 4 + view.getUint32(at, true)
  }
  return at === data.length
}

function mismatchOfNames(specs: readonly TensorSpec[], given: readonly Tensor[]): WeirError {
  const names = (tensors: readonly { readonly name: string }[]): string =>
    tensors.map(({ name }) => `"${name}"`).join(', ') || 'none'
  return new WeirError(
    'SIGNATURE_MISMATCH',
    `the model expects the inputs ${names(specs)}; the request has ${names(given)}`,
  )
}

function unequalItems({ name, shape }: Tensor, axis: number, items: number): WeirError {
  return new WeirError(
    'SIGNATURE_MISMATCH',
    `the input "${name}" has ${shape[axis]} items, the inputs before it ${items}`,
  )
}
