import { WeirError } from '../../core/errors.ts'
import { wireAnswer } from '../../inference/engine/wire-answer.ts'
import type { InferenceEngine } from '../../inference/port/engine.ts'
import type { PartsRequest } from '../../inference/port/request.ts'
import type { InferTerms, VersionedInferAnswer } from '../../serving/port/models-backend.ts'

/**
 * The parts of an answer as clients get them, with the wanted outputs. Throws and rejects as `InferenceEngine.parts`, with
 * SIGNATURE_MISMATCH for an unknown output, and INVALID_ARGUMENT for a request of a sequence.
 */
export async function* partsOf(
  engine: Pick<InferenceEngine, 'parts'>,
  { terms, ...request }: PartsRequest & { readonly terms: Pick<InferTerms, 'sequence'> },
  wanted: readonly string[],
): AsyncGenerator<VersionedInferAnswer> {
  if (terms.sequence !== undefined) {
    const message =
      'a model that answers in parts has no sequences, so sequence_id would change nothing; leave it out'
    throw new WeirError('INVALID_ARGUMENT', message)
  }
  const { version } = request.model
  for await (const outputs of engine.parts(request)) {
    const answer = { outputs, version, queueMs: 0, runMs: 0, batchItems: 1, flags: {} }
    yield { version, answer: wireAnswer(answer, wanted) }
  }
}
