import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../../src/core/random.ts'
import {
  LatencyHistogram,
  RELATIVE_ERROR,
} from '../../../../src/testing/load/port/latency-histogram.ts'

const histogramOf = (latencies: readonly number[]): LatencyHistogram => {
  const histogram = new LatencyHistogram()
  for (const latency of latencies) histogram.record(latency)
  return histogram
}

describe('LatencyHistogram', () => {
  it('gives percentiles within its relative error, from microseconds to minutes', () => {
    const random = seededRandom(5)
    // Log-uniform over nine decades, in whole microseconds.
    const latencies = Array.from(
      { length: 20_000 },
      () => Math.round(10 ** (9 * random.next())) / 1000,
    )
    const histogram = histogramOf(latencies)
    const sorted = latencies.toSorted((a, b) => a - b)
    for (const percent of [0, 1, 25, 50, 90, 99, 99.9, 100]) {
      const exact = sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)]!
      const found = histogram.percentileMs(percent)
      expect(found).toBeGreaterThanOrEqual(exact)
      expect(found).toBeLessThanOrEqual(exact * (1 + RELATIVE_ERROR))
    }
    expect(histogram.maxMs).toBe(sorted.at(-1))
    expect(histogram.meanMs).toBeCloseTo(
      latencies.reduce((sum, value) => sum + value, 0) / latencies.length,
      6,
    )
  })

  it('is exact below a quarter of a millisecond', () => {
    const histogram = histogramOf([0.001, 0.017, 0.255])
    expect([10, 50, 100].map((p) => histogram.percentileMs(p))).toEqual([0.001, 0.017, 0.255])
  })

  it('added to another one counts the latencies of both', () => {
    const sum = histogramOf([1, 2])
    sum.add(histogramOf([3, 1000]).snapshot())
    expect(sum.snapshot()).toEqual(histogramOf([1, 2, 3, 1000]).snapshot())
    expect(sum.count).toBe(4)
  })

  it('takes latencies that are too long for its buckets, and has none when it is empty', () => {
    expect(histogramOf([1e10]).maxMs).toBe(1e10)
    expect(histogramOf([-1]).percentileMs(50)).toBe(0)
    const empty = new LatencyHistogram()
    expect([empty.meanMs, empty.maxMs, empty.percentileMs(50)]).toEqual([
      Number.NaN,
      Number.NaN,
      Number.NaN,
    ])
  })
})
