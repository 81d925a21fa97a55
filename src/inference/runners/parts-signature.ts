import { onlyPart } from '../port/only-part.ts'
import type { LoadedModel } from '../port/runner.ts'
import type { ModelSignature } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'

/** The signature of a model that answers in parts: each request has its answer by itself. */
export const partsSignature = (signature: ModelSignature): ModelSignature => ({
  ...signature,
  batches: false,
  parts: true,
  alone: 'it answers in parts',
})

/** The answer of a model in parts as one answer. Rejects as `onlyPart`. */
export async function wholeAnswer(
  parts: NonNullable<LoadedModel['parts']>,
  inputs: readonly Tensor[],
): Promise<readonly Tensor[]> {
  const controller = new AbortController()
  try {
    return await onlyPart(parts(inputs, controller.signal))
  } finally {
    controller.abort()
  }
}
