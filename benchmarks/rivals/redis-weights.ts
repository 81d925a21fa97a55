import type { Redis } from 'ioredis'
import { GeneratedWeights } from '../../src/models/linear/model-generator.ts'
import type { SparseVector } from '../../src/wire/model-reader.ts'
import type { Ask } from '../load/generator.ts'

const WEIGHTS_PER_COMMAND = 1000
const COMMANDS_UNDER_WAY = 16

/** Loads the weights that Weir serves: one key per feature, float32 values. */
export async function loadRedisWeights(client: Redis, features: number): Promise<void> {
  const weights = new GeneratedWeights({ features })
  const underWay = new Set<Promise<unknown>>()
  for (let from = 0; from < features; from += WEIGHTS_PER_COMMAND) {
    const words: (string | Buffer)[] = []
    for (let id = from; id < Math.min(features, from + WEIGHTS_PER_COMMAND); id++) {
      words.push(String(id), Buffer.from(Float32Array.of(weights.weight(id)).buffer))
    }
    const sent = client.mset(words).finally(() => underWay.delete(sent))
    underWay.add(sent)
    if (underWay.size >= COMMANDS_UNDER_WAY) await Promise.race(underWay)
  }
  await Promise.all(underWay)
}

/** Decision values of examples from Redis: `MGET` of their weights, and the sum of products here. */
export function redisDecisions(client: Redis, examples: readonly SparseVector[]): Ask {
  const keys = examples.map(({ ids }) => Array.from(ids, String))
  return async (index) => {
    const at = index % examples.length
    const { values } = examples[at]!
    const weights = await client.mgetBuffer(keys[at]!)
    let sum = 0
    for (let k = 0; k < values.length; k++) sum += weights[k]!.readFloatLE(0) * values[k]!
    return sum
  }
}
