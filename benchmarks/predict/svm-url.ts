import { join } from 'node:path'
import { seededRandom } from '../../src/core/random.ts'
import { LinearExamples } from '../../src/models/linear/model-generator.ts'
import { SVM_MODEL } from '../../src/models/topic/linear-serving-function.ts'
import type { SparseVector } from '../../src/wire/model-reader.ts'
import type { Benchmark, BenchmarkOptions, Figure } from '../harness/benchmark.ts'
import { type Ask, measureThroughput, type Throughput } from '../load/generator.ts'
import { scaled } from '../load/model-shape.ts'
import { median } from '../load/statistics.ts'
import { OUTSTANDING, percentilesOf, STRETCH_SECONDS, stretch, warmUp } from '../load/stretch.ts'
import { startRedis } from '../rivals/redis.ts'
import { loadRedisWeights, redisDecisions } from '../rivals/redis-weights.ts'
import { RANGE, ServedSvm } from '../served/svm.ts'

/** Features of URL Reputation and of the thesis's model. */
export const FEATURES = 3_231_961
const NON_ZEROS = 117
/** Number of different examples. Together they read most of the weights that any example reads. */
const EXAMPLES = 8192
const ROUNDS = 3
/** Redis answers most requests a second with few in flight; more of them only queue in its client. */
const REDIS_OUTSTANDING = 16

/** `svm-url`: predictions of a linear model, 117 non-zeros of 3.2 M features. */
export const svmUrlBenchmark: Benchmark = {
  name: 'svm-url',
  summary: `linear predictions, ${NON_ZEROS} non-zeros of 3.2 M features (Zipf), against Redis MGET`,
  async run(options) {
    const features = scaled(FEATURES, options.scale)
    const examples = urlExamples(features)
    options.say(`loading ${features} weights into Weir`)
    await using served = await ServedSvm.start(join(options.scratch, 'svm-url'), features)
    const ask: Ask = (index) => served.client.predictLinear(SVM_MODEL, examples[index % EXAMPLES]!)
    await warmUp(ask)
    return [await measure({ served, ask, examples, features }, options)]
  },
}

interface ServedExamples {
  readonly served: ServedSvm
  readonly ask: Ask
  readonly examples: readonly SparseVector[]
  readonly features: number
}

async function measure(
  { served, ask, examples, features }: ServedExamples,
  { say }: BenchmarkOptions,
): Promise<Figure> {
  await using redis = await served.whilePaused(startRedis)
  let askRedis: Ask | undefined
  if (redis !== undefined) {
    say(`loading ${features} weights into Redis`)
    await served.whilePaused(() => loadRedisWeights(redis.client, features))
    askRedis = redisDecisions(redis.client, examples)
    await served.whilePaused(() => redisStretch(askRedis!, 1))
  }
  const weir: Throughput[] = []
  const rival: number[] = []
  for (let round = 1; round <= ROUNDS; round++) {
    const measured = await stretch(ask)
    weir.push(measured)
    if (askRedis !== undefined) {
      rival.push(await served.whilePaused(() => redisStretch(askRedis!, STRETCH_SECONDS)))
    }
    const against = rival.length === 0 ? '' : `, Redis ${Math.round(rival.at(-1)!)}`
    say(`round ${round}: ${Math.round(measured.perSecond)} predictions/s${against}`)
  }
  return {
    name: 'svm-url',
    value: median(weir.map(({ perSecond }) => perSecond)),
    unit: 'predictions/s',
    target: 60_000,
    targetRatio: 5,
    ...(rival.length === 0 ? {} : { rival: median(rival), rivalName: 'Redis MGET' }),
    details: {
      features,
      nonZeros: NON_ZEROS,
      range: RANGE,
      rounds: ROUNDS,
      outstanding: OUTSTANDING,
      ...percentilesOf(weir),
    },
  }
}

async function redisStretch(ask: Ask, seconds: number): Promise<number> {
  return (await measureThroughput(ask, REDIS_OUTSTANDING, seconds)).perSecond
}

/** Examples for both Weir and Redis. */
function urlExamples(features: number): SparseVector[] {
  const examples = new LinearExamples({ features, nonZeros: NON_ZEROS })
  const random = seededRandom(7)
  return Array.from({ length: EXAMPLES }, () => {
    const { ids, values } = examples.next(random)
    return { ids: ids.slice(), values: values.slice() }
  })
}
