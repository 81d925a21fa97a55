import { describe, expect, it } from 'vitest'
import { PopularityRule } from '../../../src/kinds/popularity/rule.ts'
import { trainPopularity } from '../../../src/kinds/popularity/train.ts'
import { newRow } from '../../../src/models/als/online/rule.ts'
import { SequentialLearner } from '../../../src/models/als/online/sequential-learner.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { learnableModel } from '../../../src/training/als/learnable-model.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'

const DAMPING = 3
const rated = (user: string, item: string, rating: number): Rating => ({
  ...{ user, item, rating },
  timestamp: -1,
})
const base = [rated('ann', 'a', 5), rated('bob', 'a', 3), rated('ann', 'b', 1)]
/** The mean of `base`. The mean of the items is another one. */
const MEAN = 3

/** A learner of a model of `base`. */
function learner(): SequentialLearner {
  const table = ratingsTable(base)
  const model = trainPopularity(table, { damping: DAMPING })
  const { dimension, biased, globalMean } = model
  const rule = new PopularityRule({ dimension, biased }, { damping: DAMPING, globalMean })
  return new SequentialLearner(learnableModel(model, table), rule)
}

/** The damped mean of ratings. */
const meanOf = (...ratings: readonly number[]): number =>
  ratings.reduce((sum, each) => sum + each, DAMPING * MEAN) / (ratings.length + DAMPING)

describe('PopularityRule', () => {
  it('learns what a training on all ratings of the item would find', () => {
    const learned = learner()
    for (const rating of [1, 2, 5]) learned.learn(rated('ann', 'a', rating))
    expect(learned.predict('bob', 'a')).toBeCloseTo(meanOf(5, 3, 1, 2, 5), 5)
    expect(learned.predict('bob', 'b')).toBeCloseTo(meanOf(1), 5)
  })

  it('learns a new item from the mean of all, not from that of the items', () => {
    const learned = learner()
    learned.learn(rated('ann', 'new', 5))
    expect(learned.predict('bob', 'new')).toBeCloseTo(meanOf(5), 5)
    learned.learn(rated('bob', 'new', 1))
    expect(learned.predict('bob', 'new')).toBeCloseTo(meanOf(5, 1), 5)
  })

  it('predicts for a new user what it predicts for all', () => {
    const learned = learner()
    learned.learn(rated('new', 'a', 4))
    expect(learned.predict('new', 'a')).toBe(learned.predict('ann', 'a'))
  })

  it('refuses a rating that is no number, and changes nothing', () => {
    const rule = new PopularityRule({ dimension: 2, biased: true }, { globalMean: MEAN })
    const [user, item] = [
      newRow(Float32Array.of(MEAN, 1), 0),
      newRow(Float32Array.of(1, 0.5), 0, 2),
    ]
    const delta = new Float32Array(rule.deltaLength)
    expect(rule.learn(user, item, Number.NaN, delta)).toBe('refused')
    expect(rule.fold(item, Float32Array.of(Number.POSITIVE_INFINITY, 0))).toBe('refused')
    expect([...item.row, item.updates, user.updates]).toEqual([1, 0.5, 0, 0])
  })

  it('refuses rows of another kind of model', () => {
    expect(() => new PopularityRule({ dimension: 18, biased: true }, {})).toThrow(
      'the rows of a popularity model have 2 floats, not 18',
    )
  })
})
