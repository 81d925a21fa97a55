import { beforeAll, describe, expect, it } from 'vitest'
import {
  ONLINE_RULES,
  type OnlineRuleOptions,
  onlineRule,
} from '../../../../src/models/als/online/rules.ts'
import { SequentialLearner } from '../../../../src/models/als/online/sequential-learner.ts'
import { generateRatings } from '../../../../src/models/ratings/generator.ts'
import { learnableModel, momentsOf } from '../../../../src/training/als/learnable-model.ts'
import type { AlsModel } from '../../../../src/training/als/solver/model.ts'
import { trainAls } from '../../../../src/training/als/train.ts'
import { trainBmf } from '../../../../src/training/bmf/train.ts'
import { ratingsTable } from '../../../../src/training/data/ratings-table.ts'
import { interval, mean } from '../../../combinations/plain-measures.ts'
import { CHOSEN_SETS, FRESH, GOLDEN, squaresOf } from './rating-sets.ts'

/** Each rule with its defaults, and the other schedules of its steps. */
const RULES: readonly OnlineRuleOptions[] = [
  ...ONLINE_RULES.map((rule) => ({ rule })),
  { rule: 'sgd', schedule: 'adagrad' },
  { rule: 'sgd', schedule: 'decayed' },
]
const KINDS = ['biased ALS', 'ALS without biases', 'Bayesian factorisation'] as const

describe.each(CHOSEN_SETS.flatMap((set) => KINDS.map((kind) => ({ ...set, kind }))))(
  '$kind of $trained ratings of $users users and $items items',
  ({ kind, trained: count, ...shape }) => {
    const { users, items, seed } = shape
    const all = [...generateRatings({ users, items, ratings: count + GOLDEN + 5000, seed })]
    const golden = all.slice(count, count + GOLDEN)
    const table = ratingsTable(all.slice(0, count))
    let model: AlsModel

    beforeAll(async () => {
      const shape = { factors: 16, threads: 0 }
      if (kind === 'Bayesian factorisation') model = (await trainBmf(table, shape)).model
      else model = await trainAls(table, { ...shape, biases: kind === 'biased ALS' })
    })

    it.each(RULES)('answers no worse after it has learned fresh ratings with %o', (rule) => {
      const { dimension, biased } = model
      const learner = new SequentialLearner(
        learnableModel(model, table),
        onlineRule({ dimension, biased }, rule, () => momentsOf(model)),
      )
      const squares = squaresOf(golden, ({ user, item }) => learner.predict(user, item))
      const most = mean(squares) + interval(squares)
      let learned = 0
      for (const fresh of FRESH) {
        for (const rating of all.slice(count + GOLDEN + learned, count + GOLDEN + fresh)) {
          learner.learn(rating)
        }
        learned = fresh
        const now = squaresOf(golden, ({ user, item }) => learner.predict(user, item))
        expect(mean(now), `after ${fresh} ratings`).toBeLessThan(most)
      }
    })
  },
)
