import { join } from 'node:path'
import { seededRandom } from '../../src/core/random.ts'
import { SVM_MODEL } from '../../src/models/topic/linear-serving-function.ts'
import type { SparseVector } from '../../src/wire/model-reader.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import {
  type Ask,
  measureSequential,
  measureThroughput,
  type Throughput,
} from '../load/generator.ts'
import { scaled } from '../load/model-shape.ts'
import { median, quantile, rounded } from '../load/statistics.ts'
import { STRETCH_SECONDS } from '../load/stretch.ts'
import { RANGE, ServedSvm } from '../served/svm.ts'
import { FEATURES } from './svm-url.ts'

/** As in the thesis: uniformly drawn features, at most this many and at least a tenth of that. */
const MOST_NON_ZEROS = 100_000
const EXAMPLES = 64
const OUTSTANDING = 4
const SEQUENTIAL = 300
const ROUNDS = 3

/** `svm-thesis`: predictions of a linear model with up to 100,000 non-zeros. */
export const svmThesisBenchmark: Benchmark = {
  name: 'svm-thesis',
  summary: 'linear predictions, 10,000 to 100,000 random non-zeros of 3.2 M features',
  async run({ scale, say, scratch }) {
    const features = scaled(FEATURES, scale)
    const examples = thesisExamples(features, Math.min(MOST_NON_ZEROS, Math.floor(features / 4)))
    say(`loading ${features} weights into Weir`)
    await using served = await ServedSvm.start(join(scratch, 'svm-thesis'), features)
    const ask: Ask = (index) => served.client.predictLinear(SVM_MODEL, examples[index % EXAMPLES]!)
    await measureThroughput(ask, OUTSTANDING, 2)
    const rounds: Throughput[] = []
    for (let round = 1; round <= ROUNDS; round++) {
      rounds.push(await measureThroughput(ask, OUTSTANDING, STRETCH_SECONDS))
      say(`round ${round}: ${Math.round(rounds.at(-1)!.perSecond)} predictions/s`)
    }
    const latencies = await measureSequential(ask, SEQUENTIAL)
    const sampled = rounds.flatMap(({ sampledMs }) => sampledMs)
    const details = { features, nonZerosMean: meanSize(examples), range: RANGE }
    return [
      {
        name: 'svm-thesis',
        value: median(rounds.map(({ perSecond }) => perSecond)),
        unit: 'predictions/s',
        target: 500,
        details: { ...details, outstanding: OUTSTANDING, p50Ms: rounded(quantile(sampled, 0.5)) },
      },
      {
        name: 'svm-thesis-p50',
        value: quantile(latencies, 0.5),
        unit: 'ms',
        target: 5,
        higher: false,
        details: { ...details, outstanding: 1, p99Ms: rounded(quantile(latencies, 0.99)) },
      },
    ]
  },
}

function meanSize(examples: readonly SparseVector[]): number {
  return Math.round(examples.reduce((sum, { ids }) => sum + ids.length, 0) / examples.length)
}

function thesisExamples(features: number, most: number): SparseVector[] {
  const random = seededRandom(7)
  const least = Math.floor(most / 10)
  return Array.from({ length: EXAMPLES }, () => {
    const count = least + random.below(most - least + 1)
    const chosen = new Set<number>()
    while (chosen.size < count) chosen.add(random.below(features))
    const ids = Uint32Array.from(chosen).sort()
    return { ids, values: Float32Array.from(ids, () => random.normal()) }
  })
}
