import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { slopeOfSecondHalf } from '../../../verify/models/memory-slope.ts'

const random = seededRandom(7)
const series = (valueAt: (i: number) => number): number[] =>
  Array.from({ length: 500 }, (_, i) => valueAt(i))

describe('the slope of a series', () => {
  it('is that of a line, without noise, and not that of its first half', () => {
    const found = slopeOfSecondHalf(series((i) => (i < 250 ? 40 * i : 10_000 + 0.5 * i)))
    expect(found!.slope).toBeCloseTo(0.5, 10)
    expect(found!.standardError).toBeCloseTo(0, 10)
    expect(found!.isFlat).toBe(false)
  })

  it('is within its noise where nothing grows', () => {
    const { slope, standardError, isFlat } = slopeOfSecondHalf(
      series((i) => 200 + (i % 7) + random.next()),
    )!
    expect(isFlat).toBe(true)
    expect(Math.abs(slope)).toBeLessThan(3 * standardError)
  })

  it('is above its noise where a hundredth of it is lost each time', () => {
    const grows = series((i) => 200 + 0.01 * i + random.next())
    expect(slopeOfSecondHalf(grows)).toMatchObject({ isFlat: false })
  })

  it('has the standard error of the textbook', () => {
    // y = 1, 2, 2 over x = 0, 1, 2: slope 1/2, residuals -1/6, 1/3, -1/6.
    const found = slopeOfSecondHalf([9, 9, 9, 1, 2, 2])!
    expect(found.slope).toBeCloseTo(0.5, 10)
    expect(found.standardError).toBeCloseTo(Math.sqrt(1 / 6 / 1 / 2), 10)
  })

  it('is not known from fewer than three values', () => {
    expect(slopeOfSecondHalf([1, 2, 3])).toBeUndefined()
  })
})
