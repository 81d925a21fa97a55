import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { ErrorAccumulator, type PairCoverage } from '../../../src/training/metrics/errors.ts'

const KINDS: PairCoverage[] = ['known', 'coldUser', 'coldItem', 'coldBoth']

function randomPairs(count: number) {
  const random = seededRandom(count)
  return Array.from({ length: count }, (_, i) => ({
    rating: 1 + random.below(5),
    score: 3 + random.normal(),
    coverage: KINDS[i % 4] as PairCoverage,
  }))
}

function accumulate(pairs: ReturnType<typeof randomPairs>): ErrorAccumulator {
  const errors = new ErrorAccumulator()
  for (const { rating, score, coverage } of pairs) errors.add(rating, score, coverage)
  return errors
}

describe('error accumulators', () => {
  it('count every pair and return the means', () => {
    const pairs = randomPairs(1001)
    const squares = pairs.map(({ rating, score }) => (rating - score) ** 2)
    const mse = squares.reduce((sum, square) => sum + square, 0) / 1001
    const summary = accumulate(pairs).summary()
    expect(summary.count).toBe(1001)
    expect(summary.mse).toBeCloseTo(mse, 10)
    expect(summary.rmse).toBeCloseTo(Math.sqrt(mse), 10)
    expect(summary.coverage).toEqual({ known: 251, coldUser: 250, coldItem: 250, coldBoth: 250 })
    const known = squares.filter((_, i) => i % 4 === 0).reduce((sum, square) => sum + square, 0)
    expect(summary.mseByCoverage.known).toBeCloseTo(known / 251, 10)
  })

  it('merge into the accumulator of all pairs', () => {
    const pairs = randomPairs(500)
    const merged = accumulate(pairs.slice(0, 123))
    merged.merge(accumulate(pairs.slice(123)))
    merged.merge(new ErrorAccumulator())
    const [a, b] = [merged.summary(), accumulate(pairs).summary()]
    expect(a.coverage).toEqual(b.coverage)
    for (const name of ['mse', 'mae', 'rmseLow', 'rmseHigh'] as const) {
      expect(a[name]).toBeCloseTo(b[name], 10)
    }
  })

  it('have a confidence interval that covers the true value about 95 times in 100', () => {
    const random = seededRandom(8)
    let covered = 0
    for (let run = 0; run < 400; run++) {
      const errors = new ErrorAccumulator()
      for (let i = 0; i < 300; i++) errors.add(random.normal(), 0, 'known')
      const { rmseLow, rmseHigh } = errors.summary()
      if (rmseLow <= 1 && 1 <= rmseHigh) covered++
    }
    expect(covered).toBeGreaterThan(365)
    expect(covered).toBeLessThan(395)
  })

  it('refuse a score that is not a number, and a summary without pairs', () => {
    const errors = new ErrorAccumulator()
    expect(() => errors.add(3, Number.NaN, 'known')).toThrow(
      expect.objectContaining({ code: 'NOT_FINITE' }),
    )
    expect(() => errors.summary()).toThrow(expect.objectContaining({ code: 'EMPTY_DATASET' }))
  })
})
