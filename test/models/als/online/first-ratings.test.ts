import { expect, it } from 'vitest'
import { onlineRule } from '../../../../src/models/als/online/rules.ts'
import { SequentialLearner } from '../../../../src/models/als/online/sequential-learner.ts'
import { generateRatings } from '../../../../src/models/ratings/generator.ts'
import { learnableModel, momentsOf } from '../../../../src/training/als/learnable-model.ts'
import { trainAls } from '../../../../src/training/als/train.ts'
import { ratingsTable } from '../../../../src/training/data/ratings-table.ts'
import { interval, mean } from '../../../combinations/plain-measures.ts'
import { GOLDEN, squaresOf } from './rating-sets.ts'

/** `share`: part of an interval. Where the level of the weights was free, the highest rises were 0.73 and 0.36 of one. */
it.each([
  { users: 80, items: 500, trained: 9000, noise: 0.6, seed: 5, share: 0.5 },
  { users: 250, items: 250, trained: 15_000, noise: 0.1, seed: 32, share: 0.15 },
])(
  'the first ratings of a stack do not move what was trained: $users users, noise $noise',
  async ({ trained, share, ...shape }) => {
    const all = [...generateRatings({ ...shape, ratings: trained + GOLDEN + 200 })]
    const golden = all.slice(trained, trained + GOLDEN)
    const table = ratingsTable(all.slice(0, trained))
    const model = await trainAls(table, { factors: 16, biases: true, threads: 0 })
    const { dimension, biased, globalMean } = model
    const rule = onlineRule({ dimension, biased }, { rule: 'stack', globalMean }, () =>
      momentsOf(model),
    )
    const learner = new SequentialLearner(learnableModel(model, table), rule)
    const squares = () => squaresOf(golden, ({ user, item }) => learner.predict(user, item))
    const before = squares()
    const most = mean(before) + share * interval(before)
    let learned = 0
    for (const fresh of [10, 30, 50, 100, 200]) {
      const from = trained + GOLDEN
      for (const rating of all.slice(from + learned, from + fresh)) learner.learn(rating)
      learned = fresh
      expect(mean(squares()), `after ${fresh} ratings`).toBeLessThan(most)
    }
  },
)
