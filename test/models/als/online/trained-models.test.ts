import { beforeAll, describe, expect, it } from 'vitest'
import { ONLINE_RULES, onlineRule } from '../../../../src/models/als/online/rules.ts'
import { SequentialLearner } from '../../../../src/models/als/online/sequential-learner.ts'
import { generateRatings } from '../../../../src/models/ratings/generator.ts'
import type { Rating } from '../../../../src/models/ratings/rating.ts'
import { learnableModel, momentsOf } from '../../../../src/training/als/learnable-model.ts'
import type { AlsModel } from '../../../../src/training/als/solver/model.ts'
import { trainAls } from '../../../../src/training/als/train.ts'
import { trainBmf } from '../../../../src/training/bmf/train.ts'
import { ratingsTable } from '../../../../src/training/data/ratings-table.ts'

const TRAINED = 8000
const GOLDEN = 2000
/** Numbers of fresh ratings after which the error is measured. */
const FRESH = [10, 50, 200, 1000, 3000]
/** The RMSE of 2,000 golden ratings varies by this much between sets. */
const INTERVAL = 0.015

const all = [...generateRatings({ users: 300, items: 120, ratings: 13_000, seed: 3 })]
const golden = all.slice(TRAINED, TRAINED + GOLDEN)
const table = ratingsTable(all.slice(0, TRAINED))

/** RMSE by plain products of rows. */
function rmseOf(predict: (rating: Rating) => number): number {
  const squares = golden.map((rating) => (predict(rating) - rating.rating) ** 2)
  return Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / squares.length)
}

describe.each(['biased ALS', 'ALS without biases', 'Bayesian factorisation'])('%s', (kind) => {
  let model: AlsModel

  beforeAll(async () => {
    const shape = { factors: 16, threads: 0 }
    if (kind === 'Bayesian factorisation') model = (await trainBmf(table, shape)).model
    else model = await trainAls(table, { ...shape, biases: kind === 'biased ALS' })
  })

  it.each(ONLINE_RULES)('answers no worse after it has learned fresh ratings with %s', (rule) => {
    const { dimension, biased } = model
    const learner = new SequentialLearner(
      learnableModel(model, table),
      onlineRule({ dimension, biased }, { rule }, () => momentsOf(model)),
    )
    const trained = rmseOf(({ user, item }) => learner.predict(user, item))
    let learned = 0
    for (const count of FRESH) {
      for (const rating of all.slice(TRAINED + GOLDEN + learned, TRAINED + GOLDEN + count)) {
        learner.learn(rating)
      }
      learned = count
      const now = rmseOf(({ user, item }) => learner.predict(user, item))
      expect(now, `after ${count} ratings`).toBeLessThan(trained + INTERVAL)
    }
  })
})
