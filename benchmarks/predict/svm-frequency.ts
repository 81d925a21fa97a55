import { join } from 'node:path'
import { seededRandom } from '../../src/core/random.ts'
import { LinearExamples } from '../../src/models/linear/model-generator.ts'
import { SVM_MODEL } from '../../src/models/topic/linear-serving-function.ts'
import type { SparseVector } from '../../src/wire/model-reader.ts'
import type { Benchmark, Figure } from '../harness/benchmark.ts'
import { type Ask, measureThroughput } from '../load/generator.ts'
import { scaled } from '../load/model-shape.ts'
import { median, rounded } from '../load/statistics.ts'
import { RANGE, ServedSvm } from '../served/svm.ts'
import { FEATURES } from './svm-url.ts'

const NON_ZEROS = 117
const EXAMPLES = 8192
const ROUNDS = 3
const SECONDS = 2
/** Predictions under way: spilled ones wait for a hundred rows each. */
const OUTSTANDING = 16
const DEADLINE_MS = 60_000
/** Features that are numbered first, in the order of their frequency. */
const HOT = 65_536
/** Exponents of the features' Zipf law. */
const SKEWS = [0, 0.8, 1.05, 1.2]

/**
 * `svm-frequency`: what it gains to keep frequent features together. In memory: linear predictions of a model whose
 * frequent features are numbered first, beside the same model with ids far apart. With a quarter of the blocks in
 * memory: ids far apart with copies of hot weights, beside no copies.
 */
export const svmFrequencyBenchmark: Benchmark = {
  name: 'svm-frequency',
  summary:
    'linear predictions with the frequent features together, at several skews, in memory and spilled',
  async run({ scale, say, scratch }) {
    const features = scaled(FEATURES, scale)
    const hot = Math.min(HOT, RANGE * Math.floor(features / (8 * RANGE)))
    const serve = (
      name: string,
      configuration: Readonly<Record<string, string>>,
    ): Promise<ServedSvm> => ServedSvm.start(join(scratch, name), features + hot, configuration)
    const spilled = {
      'state.backend.type': 'rocksdb',
      'state.backend.memory.budget': String(features),
    }
    await using inMemory = await serve('in-memory', {})
    await using plain = await serve('plain', { ...spilled, 'queryable-state.hot-weights': '0' })
    await using copying = await serve('copying', spilled)
    const figures: Figure[] = []
    for (const skew of SKEWS) {
      const shape = { features, hot, skew }
      const apart = examplesOf(shape)
      const together = apart.map(frequentFirst(shape))
      const details = {
        ...shape,
        rowsApart: rounded(rowsOf(apart)),
        rowsTogether: rounded(rowsOf(together)),
        hotShare: rounded(hotShare(together, hot)),
      }
      const pairs = {
        'in-memory': [asking(inMemory, together), asking(inMemory, apart), 'ids far apart'],
        spilled: [asking(copying, apart), asking(plain, apart), 'no copies'],
        'spilled-together': [asking(plain, together), asking(plain, apart), 'ids far apart'],
      } as const
      for (const [name, [ask, askRival, rivalName]] of Object.entries(pairs)) {
        const { value, rival } = await measure(ask, askRival)
        say(`${name}, exponent ${skew}: ${Math.round(value)} and ${Math.round(rival)}/s`)
        const figure = { value, rival, rivalName, unit: 'predictions/s', details }
        figures.push({ name: `svm-frequency-${name}-${skew}`, ...figure })
      }
    }
    return figures
  },
}

/** Features of the model, those among them that are numbered first, and the skew of the examples. */
interface Shape {
  readonly features: number
  readonly hot: number
  readonly skew: number
}

function asking({ client }: ServedSvm, examples: readonly SparseVector[]): Ask {
  const options = { deadlineMs: DEADLINE_MS }
  return (index) => client.predictLinear(SVM_MODEL, examples[index % EXAMPLES]!, options)
}

/** Predictions a second of both, in turn. */
async function measure(
  ask: Ask,
  askRival: Ask,
): Promise<{ readonly value: number; readonly rival: number }> {
  const values: number[] = []
  const rivals: number[] = []
  await measureThroughput(ask, OUTSTANDING, 2 * SECONDS)
  await measureThroughput(askRival, OUTSTANDING, SECONDS)
  for (let round = 0; round < ROUNDS; round++) {
    values.push((await measureThroughput(ask, OUTSTANDING, SECONDS)).perSecond)
    rivals.push((await measureThroughput(askRival, OUTSTANDING, SECONDS)).perSecond)
  }
  return { value: median(values), rival: median(rivals) }
}

function examplesOf({ features, skew }: Shape): SparseVector[] {
  const examples = new LinearExamples({ features, nonZeros: NON_ZEROS, exponent: skew })
  const random = seededRandom(7)
  return Array.from({ length: EXAMPLES }, () => {
    const { ids, values } = examples.next(random)
    return { ids: ids.slice(), values: values.slice() }
  })
}

/** Numbers the `hot` most frequent features first; every other one keeps its place behind them. */
function frequentFirst({ features, hot }: Shape): (example: SparseVector) => SparseVector {
  const order = new LinearExamples({ features, nonZeros: NON_ZEROS })
  const ranks = new Map<number, number>()
  for (let rank = 0; rank < hot; rank++) ranks.set(order.featureOfRank(rank), rank)
  return ({ ids, values }) => {
    const places = Array.from(ids, (id, k) => [ranks.get(id) ?? id + hot, values[k]!] as const)
    places.sort(([a], [b]) => a - b)
    return {
      ids: Uint32Array.from(places, ([id]) => id),
      values: Float32Array.from(places, ([, value]) => value),
    }
  }
}

/** Mean number of blocks of weights that an example reads. */
function rowsOf(examples: readonly SparseVector[]): number {
  let rows = 0
  for (const { ids } of examples) {
    rows += new Set(Array.from(ids, (id) => Math.floor(id / RANGE))).size
  }
  return rows / examples.length
}

function hotShare(examples: readonly SparseVector[], hot: number): number {
  let count = 0
  for (const { ids } of examples) for (const id of ids) if (id < hot) count++
  return count / (examples.length * NON_ZEROS)
}
