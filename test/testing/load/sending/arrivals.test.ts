import { describe, expect, it } from 'vitest'
import { type OpenLoad, shareOfCount } from '../../../../src/testing/load/port/load.ts'
import { arrivalsOf, shareOfArrivals } from '../../../../src/testing/load/sending/arrivals.ts'

const times = (load: OpenLoad, count: number, thread = 0, threads = 1): number[] => {
  const arrivals = shareOfArrivals(arrivalsOf(load), { thread, threads })
  return Array.from({ length: count }, () => arrivals.nextMs())
}

const poisson = (seed: number): OpenLoad => ({
  kind: 'rate',
  perSecond: 500,
  distribution: 'poisson',
  seed,
})

describe('arrivals', () => {
  it.each([1, 2, 3])(
    'of a Poisson process have exponential distances with mean and deviation 1/rate (seed %i)',
    (seed) => {
      const count = 50_000
      const at = times(poisson(seed), count)
      const gaps = at.map((time, i) => time - (at[i - 1] ?? 0))
      const mean = gaps.reduce((sum, gap) => sum + gap, 0) / count
      const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / count
      // 2 ms; five standard errors: 2 / sqrt(50,000) for the mean, and 8^0.5 times its square for the variance.
      expect(Math.abs(mean - 2)).toBeLessThan(0.045)
      expect(Math.abs(variance - 4)).toBeLessThan(0.26)
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0)
      // The share of gaps above the mean of an exponential distribution is 1/e.
      expect(gaps.filter((gap) => gap > 2).length / count).toBeCloseTo(Math.exp(-1), 1)
    },
  )

  it('of a Poisson process are the same for the same seed only', () => {
    expect(times(poisson(4), 100)).toEqual(times(poisson(4), 100))
    expect(times(poisson(4), 100)).not.toEqual(times(poisson(5), 100))
  })

  it('at a constant rate have equal distances that do not drift', () => {
    const load = { kind: 'rate', perSecond: 3, distribution: 'constant', seed: 1 } as const
    expect(times(load, 300).at(-1)).toBe(100_000)
  })

  it('with intervals begin again after the last one', () => {
    const load = { kind: 'intervals', microseconds: Float64Array.of(1000, 0, 500) } as const
    expect(times(load, 7)).toEqual([1, 1, 1.5, 2.5, 2.5, 3, 4])
  })

  it('of a trace end after the last one', () => {
    const load = { kind: 'trace', offsetsMs: Float64Array.of(0, 5, 5) } as const
    const end = Number.POSITIVE_INFINITY
    expect(times(load, 5)).toEqual([0, 5, 5, end, end])
  })

  it('are the same in all, whatever the number of threads', () => {
    const shares = [0, 1, 2].flatMap((thread) => times(poisson(7), 100, thread, 3))
    expect(shares.sort((a, b) => a - b)).toEqual(times(poisson(7), 300))
  })
})

describe('shareOfCount', () => {
  it('shares a number out without a rest', () => {
    for (const count of [0, 1, 7, 64, 100]) {
      const shares = [0, 1, 2].map((thread) => shareOfCount(count, { thread, threads: 3 }))
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(count)
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1)
    }
  })
})
