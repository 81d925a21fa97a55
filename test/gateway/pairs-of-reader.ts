import { PairsCall } from '../../src/client/pair-batch.ts'
import {
  type EncodedPairs,
  nextPair,
  type PairPredictions,
  pairAt,
} from '../../src/wire/encoded-pairs.ts'
import type { ModelReader, PredictOptions } from '../../src/wire/model-reader.ts'

/** Predictions of encoded pairs from a reader that takes pairs one by one. */
export async function predictPairs(
  reader: ModelReader,
  state: string,
  { count, bytes }: EncodedPairs,
  options?: PredictOptions,
): Promise<PairPredictions> {
  const call = new PairsCall(count)
  for (let pair = 0, at = 0; pair < count; pair++, at = nextPair(bytes, at)) {
    const [left, right] = pairAt(bytes, at)
    call.settle(pair, await reader.predictWithEnvelope(state, left, right, options))
  }
  return await call.predictions
}
