import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { ErrorAccumulator, type PairCoverage } from '../../../src/training/metrics/errors.ts'

const KINDS: PairCoverage[] = ['known', 'coldUser', 'coldItem', 'coldBoth']

function randomPairs(count: number) {
  const random = seededRandom(count)
  return Array.from({ length: count }, (_, i) => ({
    pair: { user: `u${i % 40}`, item: `i${i % 30}`, rating: 1 + random.below(5) },
    score: 3 + random.normal(),
    coverage: KINDS[i % 4] as PairCoverage,
  }))
}

function accumulate(pairs: ReturnType<typeof randomPairs>): ErrorAccumulator {
  const errors = new ErrorAccumulator()
  for (const { pair, score, coverage } of pairs) errors.add(pair, score, coverage)
  return errors
}

describe('error accumulators', () => {
  it('count every pair and return the means', () => {
    const pairs = randomPairs(1001)
    const squares = pairs.map(({ pair, score }) => (pair.rating - score) ** 2)
    const mse = squares.reduce((sum, square) => sum + square, 0) / 1001
    const summary = accumulate(pairs).summary()
    expect(summary.count).toBe(1001)
    expect(summary.mse).toBeCloseTo(mse, 10)
    expect(summary.rmse).toBeCloseTo(Math.sqrt(mse), 10)
    expect(summary.coverage).toEqual({ known: 251, coldUser: 250, coldItem: 250, coldBoth: 250 })
    const known = squares.filter((_, i) => i % 4 === 0).reduce((sum, square) => sum + square, 0)
    expect(summary.mseByCoverage.known).toBeCloseTo(known / 251, 10)
  })

  it('have intervals for pairs that resemble others of their user and item', () => {
    const random = seededRandom(8)
    const ofUser = Array.from({ length: 50 }, () => random.normal())
    const errors = new ErrorAccumulator()
    for (let i = 0; i < 5000; i++) {
      const user = random.below(50)
      const rating = 3 + ofUser[user]! + 0.5 * random.normal()
      errors.add({ user: `u${user}`, item: `i${random.below(100)}`, rating }, 3, 'known')
    }
    const { mse, rmse, mae, rmseLow, rmseHigh, maeLow, maeHigh } = errors.summary()
    // As many independent users say as much as these 5,000 pairs do.
    const ofUsers = Math.sqrt(2 / 50)
    expect((rmseHigh ** 2 - mse) / (1.96 * mse)).toBeGreaterThan(ofUsers / 2)
    expect(rmseLow).toBeLessThan(rmse)
    expect(maeHigh - mae).toBeCloseTo(mae - maeLow, 10)
    expect((maeHigh - mae) / mae).toBeGreaterThan(0.1)
  })

  it('refuse a score that is not a number, and a summary without pairs', () => {
    const errors = new ErrorAccumulator()
    expect(() => errors.add({ user: 'u', item: 'i', rating: 3 }, Number.NaN, 'known')).toThrow(
      expect.objectContaining({ code: 'NOT_FINITE' }),
    )
    expect(() => errors.summary()).toThrow(expect.objectContaining({ code: 'EMPTY_DATASET' }))
  })
})
