import { BatchBuffer, itemsOf } from '../port/batch-buffer.ts'
import type { InferAnswer, InferRequest } from '../port/request.ts'
import { itemAxisOf, type ModelSignature } from '../port/signature.ts'
import { DATATYPE_BYTES, type Tensor } from '../port/tensor.ts'
import type { ShapedRequest } from './request-shape.ts'

/** How a request with more items than a run takes is asked in parts. */
export interface SplitOptions {
  readonly signature: ModelSignature
  /** Most items of a part. */
  readonly most: number
  /** Parts that are under way at once. */
  readonly atOnce: number
  /** Time until the answer of all parts, ms. */
  readonly goalMs: number
  /** Monotonic ms. */
  readonly nowMs: () => number
  readonly ask: (request: InferRequest) => Promise<InferAnswer>
}

/**
 * Answers a request in parts of the most items that a run takes; the rows of the parts do not depend on one another. One
 * part that fails ends the others and rejects; one with the default of the deployment is the answer of all.
 */
export async function inferInParts(
  request: InferRequest,
  { inputs, items: total }: ShapedRequest,
  options: SplitOptions,
): Promise<InferAnswer> {
  const { signature, most, atOnce, goalMs, nowMs, ask } = options
  // The caller may use its memory again once this has returned.
  const kept = inputs.map((tensor) => ({ ...tensor, data: tensor.data.slice() }))
  const endsAt = nowMs() + goalMs
  const ended = new AbortController()
  const signal = AbortSignal.any([ended.signal, ...(request.signal ? [request.signal] : [])])
  const answers: InferAnswer[] = []
  const parts = Array.from({ length: Math.ceil(total / most) }, (_, part) => part)[
    Symbol.iterator
  ]()
  const askNext = async (): Promise<void> => {
    for (const part of parts) {
      const first = part * most
      const items = Math.min(most, total - first)
      const own = kept.map((tensor, i) =>
        itemsOf(tensor, signature.inputs[i]!, { first, items, total }),
      )
      answers[part] = await ask({ ...request, inputs: own, deadlineMs: endsAt - nowMs(), signal })
    }
  }
  try {
    await Promise.all(Array.from({ length: atOnce }, askNext))
  } catch (error) {
    ended.abort(error)
    throw error
  }
  return joined(answers, signature)
}

function joined(answers: readonly InferAnswer[], { outputs }: ModelSignature): InferAnswer {
  const byDefault = answers.find(({ flags }) => flags.isDefault !== undefined)
  if (byDefault !== undefined) return byDefault
  const [first] = answers
  return {
    ...first!,
    outputs: new BatchBuffer().gather(
      outputs,
      answers.map((answer) => answer.outputs),
    ),
    queueMs: Math.max(...answers.map(({ queueMs }) => queueMs)),
    runMs: answers.reduce((sum, { runMs }) => sum + runMs, 0),
    batchItems: Math.max(...answers.map(({ batchItems }) => batchItems)),
  }
}

/** Outputs without rows; undefined where a size is known to the model only, which then runs. */
export function emptyOutputs({ outputs }: ModelSignature): readonly Tensor[] | undefined {
  const tensors: Tensor[] = []
  for (const spec of outputs) {
    const axis = itemAxisOf(spec)
    const shape = spec.shape.map((size, d) => (d === axis ? 0 : size))
    if (axis === null || shape.includes(-1)) return undefined
    const bytes = shape.reduce((product, size) => product * size, DATATYPE_BYTES[spec.datatype])
    tensors.push({ name: spec.name, datatype: spec.datatype, shape, data: new Uint8Array(bytes) })
  }
  return tensors
}
