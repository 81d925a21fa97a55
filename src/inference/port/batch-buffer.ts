import { WeirError } from '../../core/errors.ts'
import { itemAxisOf, type TensorSpec } from './signature.ts'
import type { Tensor } from './tensor.ts'

/** Memory in which a worker puts the inputs of a batch one after the other. It grows and is kept. */
export class BatchBuffer {
  private memory = new Uint8Array(0)
  private used = 0

  /**
   * One tensor for each input of the batch: the parts of all requests along the item axis. The data of a
   * single request are not copied. `requests[r][i]` is input i of request r.
   */
  gather(
    specs: readonly TensorSpec[],
    requests: readonly (readonly Tensor[])[],
  ): readonly Tensor[] {
    if (requests.length === 1) return requests[0]!
    this.reserve(requests)
    return specs.map((spec, i) => this.join(spec, requests, i))
  }

  private reserve(requests: readonly (readonly Tensor[])[]): void {
    let bytes = 0
    for (const tensors of requests) for (const { data } of tensors) bytes += data.length + 8
    if (this.memory.length < bytes) this.memory = new Uint8Array(bytes * 2)
    this.used = 0
  }

  private join(spec: TensorSpec, requests: readonly (readonly Tensor[])[], i: number): Tensor {
    const first = requests[0]![i]!
    const axis = itemAxisOf(spec)
    if (axis === null) return first
    const shape = first.shape.slice()
    shape[axis] = requests.reduce((sum, tensors) => sum + tensors[i]!.shape[axis]!, 0)
    const start = this.used
    const outer = product(first.shape, 0, axis)
    for (let block = 0; block < outer; block++) {
      for (const tensors of requests) {
        const { data } = tensors[i]!
        const length = data.length / outer
        this.memory.set(
          outer === 1 ? data : data.subarray(block * length, (block + 1) * length),
          this.used,
        )
        this.used += length
      }
    }
    const data = this.memory.subarray(start, this.used)
    this.used = (this.used + 7) & ~7
    return { ...first, shape, data }
  }
}

/**
 * The part of an output that belongs to the items from `first` on. Throws MODEL_FAILED when the output does not
 * have `total` items.
 */
export function itemsOf(
  tensor: Tensor,
  spec: TensorSpec,
  {
    first,
    items,
    total,
  }: { readonly first: number; readonly items: number; readonly total: number },
): Tensor {
  const axis = itemAxisOf(spec)
  if (axis === null) return tensor
  requireItems(tensor, axis, total)
  if (items === total) return tensor
  if (tensor.datatype === 'BYTES') return stringsOfItems(tensor, axis, { first, items, total })
  const outer = product(tensor.shape, 0, axis)
  const row = tensor.data.length / outer
  const item = row / total
  const shape = tensor.shape.slice()
  shape[axis] = items
  if (outer === 1) {
    const { name, datatype } = tensor
    const data = tensor.data.subarray(first * item, (first + items) * item)
    return { name, datatype, shape, data }
  }
  const data = new Uint8Array(outer * items * item)
  for (let block = 0; block < outer; block++) {
    const from = block * row + first * item
    data.set(tensor.data.subarray(from, from + items * item), block * items * item)
  }
  return { ...tensor, shape, data }
}

/** As `itemsOf` for elements that vary in length; only the first dimension can be the item axis. */
function stringsOfItems(
  tensor: Tensor,
  axis: number,
  {
    first,
    items,
    total,
  }: { readonly first: number; readonly items: number; readonly total: number },
): Tensor {
  if (axis !== 0) {
    throw new WeirError(
      'MODEL_FAILED',
      `the output "${tensor.name}" is BYTES; its item axis must be 0`,
    )
  }
  const { data } = tensor
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const each = product(tensor.shape, 0, tensor.shape.length) / total
  let at = 0
  let start = 0
  for (let element = 0; element < (first + items) * each; element++) {
    if (element === first * each) start = at
    at += 4 + view.getUint32(at, true)
  }
  const shape = tensor.shape.slice()
  shape[axis] = items
  return { ...tensor, shape, data: data.subarray(start, at) }
}

function requireItems({ name, shape }: Tensor, axis: number, total: number): void {
  if (shape[axis] === total) return
  throw new WeirError(
    'MODEL_FAILED',
    `the output "${name}" has the shape [${shape.join(', ')}] for a batch of ${total} items; if that is right, its rows are not independent: write "batches: false" into the settings`,
  )
}

function product(shape: readonly number[], from: number, to: number): number {
  let result = 1
  for (let i = from; i < to; i++) result *= shape[i]!
  return result
}
