import { WeirError } from '../../core/errors.ts'
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

/**
 * The answer of a model in parts as one answer. Throws MODEL_FAILED where it has no part or more than one: a client that
 * takes one answer would get a piece of it.
 */
export async function onlyPart(
  parts: NonNullable<LoadedModel['parts']>,
  inputs: readonly Tensor[],
): Promise<readonly Tensor[]> {
  const controller = new AbortController()
  let only: readonly Tensor[] | undefined
  try {
    for await (const part of parts(inputs, controller.signal)) {
      if (only !== undefined) throw notOne('more than one part')
      only = part
    }
  } finally {
    controller.abort()
  }
  if (only === undefined) throw notOne('no part')
  return only
}

/** The error of an answer in parts to a request that takes one. */
export function notOne(what: string): WeirError {
  const message = `the model answered with ${what}; ask /v2/models/NAME/generate_stream of the process that serves it`
  return new WeirError('MODEL_FAILED', message)
}
