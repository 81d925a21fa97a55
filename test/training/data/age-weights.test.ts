import { describe, expect, it } from 'vitest'
import { ageWeights, fadedRatings } from '../../../src/training/data/age-weights.ts'

describe('weights by age', () => {
  it('halve with each half-life before the newest observation, down to a millionth', () => {
    const weights = ageWeights(Float64Array.of(1000, 4000, 3000, 2500, -90_000), 1000)
    expect([...weights]).toEqual([0.125, 1, 0.5, Math.fround(2 ** -1.5), Math.fround(1e-6)])
  })

  it('refuse observations without a time, and say how many there are', () => {
    expect(() => ageWeights(Float64Array.of(1000, -1, -1), 1000)).toThrow(
      '2 of 3 observations have no time',
    )
  })

  it('fade the value of an event, and leave it as it is without a half-life', () => {
    const table = { rating: Float32Array.of(4, 4, -2), timestamp: Float64Array.of(0, 2000, 1000) }
    expect([...fadedRatings(table, 1000).rating]).toEqual([1, 4, -1])
    expect(fadedRatings(table, undefined)).toBe(table)
  })
})
