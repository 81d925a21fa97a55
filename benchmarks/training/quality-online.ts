import { ratingNoise } from '../../src/models/als/online/prior.ts'
import type { OnlineRule } from '../../src/models/als/online/rule.ts'
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

const FACTORS = 10
/** Ratings of a new user after which predictions are compared. */
const COMPARED_FROM = 20

/** Rules of `weir learn als`: the default, and settings with targets. */
const RULES: Readonly<Record<string, OnlineRuleOptions>> = {
  default: { rule: 'gram' },
  stable: { rule: 'gram', noise: 0.5, newUserNoise: 1, userForgetting: 1 },
  tracking: { rule: 'gram', noise: 0.2, newUserNoise: 1, userForgetting: 0.95 },
  sgd: { rule: 'sgd' },
  'sgd-decayed': { rule: 'sgd', schedule: 'decayed', learningRate: 0.05, decay: 0.01 },
  'sgd-adagrad': { rule: 'sgd', schedule: 'adagrad', learningRate: 0.1, decay: 1 },
  'sgd-ancestor': { rule: 'sgd', learningRate: 0.02, userRegularization: 0, itemRegularization: 0 },
  'fold-in': { rule: 'fold-in' },
  stack: { rule: 'stack' },
}

const FINAL_TARGETS: Readonly<Record<string, number>> = { stable: 1.04 }
/** Rules that also learn on the rows of Bayesian factorisation. */
const ON_BMF: Readonly<Record<string, OnlineRuleOptions>> = {
  'bmf-default': { rule: 'gram' },
  'bmf-stack': { rule: 'stack' },
}

const PREQUENTIAL_TARGETS: Readonly<Record<string, number>> = {
  stable: 0.89,
  tracking: 0.87,
  sgd: 0.88,
  stack: 0.862,
  'bmf-default': 0.875,
  'bmf-stack': 0.862,
}

/** `quality-online`: MovieLens 100K by time, learned one rating at a time. */
export const qualityOnlineBenchmark: Benchmark = {
  name: 'quality-online',
  summary:
    'MovieLens 100K by time: trained on 50 %, 30 % learned one by one, tested on the last 20 %',
  async run({ say }) {
    const parts = await movieLensByTime(say)
    if (parts === undefined) return []
    const { train, stream, seen, held } = parts
    const model = await trained(train)
    const frozen = evaluateAls(model.model, held).mse
    const retrained = evaluateAls((await trained(seen)).model, held).mse
    say(`frozen ${frozen.toFixed(4)}, retrained ${retrained.toFixed(4)}`)
    const inTime = byTime(stream)
    const learned = (
      rules: Readonly<Record<string, OnlineRuleOptions>>,
      start: Trained,
      errors: { readonly frozen: number; readonly retrained: number },
    ): Figure[] =>
      Object.entries(rules).flatMap(([name, options]) => {
        const result = learnAndTest(start, { train, stream: inTime, held }, options)
        const { prequential, final } = result
        say(`${name}: prequential ${prequential.toFixed(4)}, final ${final.toFixed(4)}`)
        return figures(name, result, errors)
      })
    const bayesian = await trainedByChain(train)
    return [
      ...learned(RULES, model, { frozen, retrained }),
      ...learned(ON_BMF, bayesian, {
        frozen: evaluateAls(bayesian.model, held).mse,
        retrained: evaluateAls((await trainedByChain(seen)).model, held).mse,
      }),
      ...newUsers(bayesian, parts),
    ]
  },
}

/** Trains as the batch default, but with fewer factors, because many rows have few ratings. */
async function trained(table: RatingsTable): Promise<Trained> {
  const model = await trainAls(table, { factors: FACTORS, threads: 2 })
  return { model, trainRmse: model.history.at(-1)?.trainRmse }
}

async function trainedByChain(table: RatingsTable): Promise<Trained> {
  const { model, history } = await trainBmf(table, { factors: FACTORS, threads: 2 })
  return { model, trainRmse: history.at(-1)?.trainRmse }
}

/** A model, and the error on the ratings that it was trained on. */
interface Trained {
  readonly model: AlsModel
  readonly trainRmse: number | undefined
}

function ruleFor({ model, trainRmse }: Trained, options: OnlineRuleOptions): OnlineRule {
  const { dimension, biased, globalMean, range } = model
  const noise = ratingNoise(trainRmse, range)
  const facts = withVersionFacts(options, { globalMean, noise })
  return onlineRule({ dimension, biased }, facts, () => momentsOf(model))
}

/**
 * RMSE of the ratings of new users from the 21st on, after their first ones are learned with the default rule; each user
 * alone, with the rows of items as trained.
 */
function newUsers(start: Trained, { train, stream, held }: MovieLensByTime): Figure[] {
  const model = learnableModel(start.model, train)
  const later = [...byTime(stream), ...byTime(held)]
  const isNew = ({ user }: Rating): boolean => model.row('user', user) === undefined
  const users = [...Map.groupBy(later.filter(isNew), ({ user }) => user).values()].filter(
    (own) => own.length > COMPARED_FROM,
  )
  const rmse = (count: number): number => {
    const squares = users.flatMap((own) => {
      const learner = new SequentialLearner(model, ruleFor(start, { rule: 'gram' }))
      for (const rating of own.slice(0, count)) learner.learn(rating)
      learner.items.clear()
      return own
        .slice(COMPARED_FROM)
        .map(({ user, item, rating }) => (rating - learner.predict(user, item)) ** 2)
    })
    return Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / squares.length)
  }
  const before = rmse(0)
  return [1, 2, 5, 10, 20].map((count) => ({
    name: `quality-online-new-user-${count}`,
    value: rmse(count),
    unit: 'RMSE',
    target: count === 20 ? 1.016 : before,
    higher: false,
    rival: before,
    rivalName: 'no ratings learned',
  }))
}

/** Ratings by time; equal times by user, as in `splitByTime`. */
function byTime(table: RatingsTable): Rating[] {
  return [...ratingsOf(table)].sort(
    (a, b) => a.timestamp - b.timestamp || (a.user < b.user ? -1 : a.user > b.user ? 1 : 0),
  )
}

interface OnlineQuality {
  readonly prequential: number
  readonly final: number
  readonly coverage: number
  readonly microseconds: number
}

interface OnlineData {
  /** The ratings of which `model` was trained. */
  readonly train: RatingsTable
  readonly stream: readonly Rating[]
  readonly held: RatingsTable
}

function learnAndTest(
  start: Trained,
  { train, stream, held }: OnlineData,
  options: OnlineRuleOptions,
): OnlineQuality {
  const rule = ruleFor(start, options)
  const learner = new SequentialLearner(learnableModel(start.model, train), rule)
  const startedAt = process.cpuUsage().user
  for (const rating of stream) learner.learn(rating)
  const microseconds = (process.cpuUsage().user - startedAt) / stream.length
  let squares = 0
  for (const { user, item, rating } of ratingsOf(held)) {
    squares += (rating - learner.predict(user, item)) ** 2
  }
  const { mse, coverage } = learner.error
  return { prequential: mse, final: squares / held.size, coverage, microseconds }
}

function figures(
  name: string,
  { prequential, final, coverage, microseconds }: OnlineQuality,
  { frozen, retrained }: { readonly frozen: number; readonly retrained: number },
): Figure[] {
  const target = (value: number | undefined): Partial<Figure> =>
    value === undefined ? {} : { target: value, higher: false }
  return [
    {
      name: `quality-online-${name}-prequential`,
      value: prequential,
      unit: 'MSE',
      ...target(PREQUENTIAL_TARGETS[name]),
      details: { coverage: rounded(coverage), microsecondsPerRating: rounded(microseconds) },
    },
    {
      name: `quality-online-${name}-final`,
      value: final,
      unit: 'MSE',
      ...target(FINAL_TARGETS[name]),
      rival: retrained,
      rivalName: 'retrained on 80 %',
      details: { frozen: rounded(frozen) },
    },
  ]
}
