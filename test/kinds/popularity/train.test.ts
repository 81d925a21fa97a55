import { describe, expect, it } from 'vitest'
import { trainPopularity } from '../../../src/kinds/popularity/train.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'

const timestamp = -1
/** The mean of all is 3; the items have the sums 9, 5 and 1. */
const table = ratingsTable([
  { user: 'ann', item: 'often', rating: 4, timestamp },
  { user: 'bob', item: 'often', rating: 5, timestamp },
  { user: 'ann', item: 'once', rating: 1, timestamp },
  { user: 'eve', item: 'liked', rating: 5, timestamp },
  { user: 'bob', item: 'liked', rating: 0, timestamp },
])

describe('trainPopularity', () => {
  it('predicts an item as its mean with some ratings of the mean of all', () => {
    const model = trainPopularity(table, { damping: 2 })
    expect(model.globalMean).toBe(3)
    expect(model.predict('ann', 'often').score).toBeCloseTo((4 + 5 + 2 * 3) / 4, 6)
    expect(model.predict('ann', 'once').score).toBeCloseTo((1 + 2 * 3) / 3, 6)
    expect(model.predict('ann', 'liked').score).toBeCloseTo((5 + 0 + 2 * 3) / 4, 6)
  })

  it('predicts the plain mean without damping', () => {
    const model = trainPopularity(table, { damping: 0 })
    expect(model.predict('ann', 'often').score).toBeCloseTo(4.5, 6)
    expect(model.predict('ann', 'once').score).toBeCloseTo(1, 6)
  })

  it('predicts the same for every user, also for one that it does not know', () => {
    const model = trainPopularity(table)
    const scores = ['ann', 'bob', 'eve', 'new'].map((user) => model.predict(user, 'often').score)
    expect(new Set(scores).size).toBe(1)
    expect(model.predict('new', 'often').coverage).toBe('coldUser')
  })

  it('has rows of an ALS model with biases and without factors, and says of how many ratings they are', () => {
    const model = trainPopularity(table, { damping: 2 })
    expect(model).toMatchObject({
      dimension: 2,
      factors: 0,
      biased: true,
      range: { min: 0, max: 5 },
    })
    expect([...model.rowOf('U', 'eve')!]).toEqual([3, 1])
    expect([...model.rowOf('I', 'often')!]).toEqual([1, 0.75])
    expect(model.ratingsOf('I', 0)).toBe(2)
    expect(model.ratingsOf('U', 0)).toBe(2)
  })

  it('refuses damping below 0 and a table without ratings', () => {
    expect(() => trainPopularity(table, { damping: -1 })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
    expect(() => trainPopularity(ratingsTable([]))).toThrow(
      expect.objectContaining({ code: 'EMPTY_DATASET' }),
    )
  })
})
