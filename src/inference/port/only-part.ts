import { WeirError } from '../../core/errors.ts'

/**
 * The only part of an answer in parts. Rejects with MODEL_FAILED where there is none or more than one: a client that takes
 * one answer would get a piece of it.
 */
export async function onlyPart<T>(parts: AsyncIterable<T>): Promise<T> {
  let only: { readonly part: T } | undefined
  for await (const part of parts) {
    if (only !== undefined) throw notOne('more than one part')
    only = { part }
  }
  if (only === undefined) throw notOne('no part')
  return only.part
}

function notOne(what: string): WeirError {
  const message = `the model answered with ${what}; ask /v2/models/NAME/generate_stream of the process that serves it`
  return new WeirError('MODEL_FAILED', message)
}
