import { ratingNoise } from '../../src/models/als/online/prior.ts'
import {
  type OnlineRuleOptions,
  onlineRule,
  withVersionFacts,
} from '../../src/models/als/online/rules.ts'
import { SequentialLearner } from '../../src/models/als/online/sequential-learner.ts'
import type { Rating } from '../../src/models/ratings/rating.ts'
import { evaluateAls } from '../../src/training/als/evaluate.ts'
import { learnableModel, momentsOf } from '../../src/training/als/learnable-model.ts'
import type { AlsModel } from '../../src/training/als/solver/model.ts'
import { trainAls } from '../../src/training/als/train.ts'
import { trainBmf } from '../../src/training/bmf/train.ts'
import { type RatingsTable, ratingsOf } from '../../src/training/data/ratings-table.ts'
import type { Benchmark, Figure } from '../harness/benchmark.ts'
import { type MovieLensByTime, movieLensByTime } from '../learning/movielens-by-time.ts'
import { rounded } from '../load/statistics.ts'

/** Ratings of 1 on one item. */
interface Flood {
  readonly ones: number
  /** Ordinary ratings that each user of the flood gives before. */
  readonly before: number
}

const FLOODS: readonly Flood[] = [
  { ones: 100, before: 0 },
  { ones: 1000, before: 0 },
  { ones: 10_000, before: 0 },
  { ones: 10_000, before: 1 },
  { ones: 10_000, before: 9 },
]
const TARGET = 0.03
/** As good as no limit. */
const NO_LIMIT = { newcomers: 1e9 }

/** A rule under a flood. */
interface FloodedRule {
  readonly name: string
  readonly options: OnlineRuleOptions
  /** Without the limit of newcomers. */
  readonly rival: OnlineRuleOptions
  /** Trains the rows that it starts from. */
  readonly train: (ratings: RatingsTable) => Promise<AlsModel>
}

const FACTORS = 10
const alternating =
  (biases: boolean) =>
  (ratings: RatingsTable): Promise<AlsModel> =>
    trainAls(ratings, { factors: FACTORS, threads: 2, biases })
const bayesian = async (ratings: RatingsTable): Promise<AlsModel> =>
  (await trainBmf(ratings, { factors: FACTORS, threads: 2 })).model

const RULES: readonly FloodedRule[] = [
  ...(['gram', 'sgd', 'fold-in'] as const).flatMap((rule) =>
    [true, false].map((biases) => ({
      name: biases ? rule : `${rule}-without-biases`,
      options: { rule },
      rival: { rule, ...NO_LIMIT },
      train: alternating(biases),
    })),
  ),
  {
    name: 'gram-on-bmf',
    options: { rule: 'gram' },
    rival: { rule: 'gram', ...NO_LIMIT },
    train: bayesian,
  },
  // Its rules have their own limits, which no option lifts: the rival is `gram` without a limit.
  ...[
    { name: 'stack', train: alternating(true) },
    { name: 'stack-on-bmf', train: bayesian },
  ].map(
    ({ name, train }): FloodedRule => ({
      name,
      options: { rule: 'stack' },
      rival: { rule: 'gram', ...NO_LIMIT },
      train,
    }),
  ),
]

/** `quality-flood`: what ratings of 1 by new users on the most popular item cost each rule. */
export const qualityFloodBenchmark: Benchmark = {
  name: 'quality-flood',
  summary: 'MovieLens 100K by time: test MSE that ones of new users on the most popular item cost',
  async run({ say }) {
    const parts = await movieLensByTime(say)
    if (parts === undefined) return []
    const figures: Figure[] = []
    for (const rule of RULES) {
      const model = await rule.train(parts.train)
      for (const flood of FLOODS) {
        const figure = flooded(rule, { model, parts, flood })
        const { details } = figure
        say(`${figure.name}: ${details?.['cost']}, no limit ${details?.['costWithoutLimit']}`)
        figures.push(figure)
      }
    }
    return figures
  },
}

interface FloodedModel {
  readonly model: AlsModel
  readonly parts: MovieLensByTime
  readonly flood: Flood
}

function flooded({ name, options, rival }: FloodedRule, on: FloodedModel): Figure {
  const { ones, before } = on.flood
  const { cost: value, start } = costOf(options, on)
  const { cost: unlimited, start: startUnlimited } = costOf(rival, on)
  const figure = name === 'gram' ? '' : `-${name}`
  return {
    name: `quality-flood${figure}-${ones}-after-${before}`,
    value,
    unit: 'MSE',
    target: TARGET,
    higher: false,
    rival: unlimited,
    rivalName: options.rule === rival.rule ? 'no limit of newcomers' : 'gram without the limit',
    details: {
      cost: rounded(value),
      costWithoutLimit: rounded(unlimited),
      before: rounded(start),
      beforeWithoutLimit: rounded(startUnlimited),
    },
  }
}

/** Test MSE before the flood, and what the flood adds. */
function costOf(
  options: OnlineRuleOptions,
  { model, parts: { train, stream, held }, flood }: FloodedModel,
): { readonly start: number; readonly cost: number } {
  const { dimension, biased, globalMean, range } = model
  const noise = ratingNoise(evaluateAls(model, train).rmse, range)
  const facts = withVersionFacts(options, { globalMean, noise })
  const rule = onlineRule({ dimension, biased }, facts, () => momentsOf(model))
  const learner = new SequentialLearner(learnableModel(model, train), rule)
  const ordinary = [...ratingsOf(stream)].sort((a, b) => a.timestamp - b.timestamp)
  for (const rating of ordinary) learner.learn(rating)
  const mse = (): number => {
    let squares = 0
    for (const { user, item, rating } of ratingsOf(held)) {
      squares += (rating - learner.predict(user, item)) ** 2
    }
    return squares / held.size
  }
  const start = mse()
  for (const rating of floodOf(flood, ordinary, mostPopular(train.item, train.items))) {
    learner.learn(rating)
  }
  return { start, cost: mse() - start }
}

function* floodOf(
  { ones, before }: Flood,
  ordinary: readonly Rating[],
  item: string,
): Generator<Rating> {
  for (let n = 0; n < ones; n++) {
    const user = `flood-${n}`
    for (let k = 0; k < before; k++) {
      // Two primes spread the choice over the stream.
      yield { ...ordinary[(n * 7919 + k * 104_729) % ordinary.length]!, user }
    }
    yield { user, item, rating: 1, timestamp: 0 }
  }
}

function mostPopular(numbers: Uint32Array, items: readonly string[]): string {
  const counts = new Uint32Array(items.length)
  for (const number of numbers) counts[number]!++
  return items[counts.indexOf(Math.max(...counts))]!
}
