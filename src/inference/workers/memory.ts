import type { ModelSignature, TensorSpec } from '../port/signature.ts'
import { DATATYPE_BYTES, type Tensor } from '../port/tensor.ts'
import { openModel, prepareRunner } from '../runners/open.ts'
import type { WorkerStart } from './messages.ts'

/**
 * Memory that the model takes in this process with one run, bytes: what the process has more than before. The
 * code of the runner does not count, since workers share it. Throws as `openModel`.
 */
export async function memoryOf(start: WorkerStart, items: number): Promise<number> {
  await prepareRunner(start.source)
  const before = process.memoryUsage.rss()
  const model = await openModel(start.source, start)
  const { signature } = model
  const count = Math.min(items, signature.maxItems ?? items)
  // A model may refuse zeros, or free sizes of 1: then its weights are what is known.
  await model.run(zeros(signature, count), count).catch(() => [])
  return Math.max(0, process.memoryUsage.rss() - before)
}

/** Inputs of zeros for so many items; other sizes that a request chooses are 1, and texts are empty. */
function zeros({ inputs }: ModelSignature, items: number): Tensor[] {
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

function sizeOf(spec: TensorSpec, size: number, dimension: number, items: number): number {
  const axis = spec.itemAxis === undefined ? 0 : spec.itemAxis
  return size === -1 ? (dimension === axis ? items : 1) : size
}
