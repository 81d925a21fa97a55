import { describe, expect, it } from 'vitest'
import {
  RESPONSE_BUCKETS,
  responseBucketOf,
  responseQuantile,
} from '../../../src/inference/queue/response-times.ts'

function countsOf(times: readonly number[]): number[] {
  const counts = new Array<number>(RESPONSE_BUCKETS).fill(0)
  for (const ms of times) counts[responseBucketOf(ms)]! += 1
  return counts
}

describe('the histogram of response times', () => {
  it('has a 99th percentile within half of the true one, from a quarter of a millisecond to ten seconds', () => {
    for (const unit of [0.3, 2.5, 7, 90]) {
      const times = Array.from({ length: 1000 }, (_, i) => unit * (1 + i / 10))
      const p99 = responseQuantile(countsOf(times), 0.99)
      const exact = unit * 100
      expect(p99).toBeGreaterThan(exact / 1.5)
      expect(p99).toBeLessThan(exact * 1.5)
    }
  })

  it('does not count a single slow answer of a thousand as the 99th percentile', () => {
    const counts = countsOf([...new Array<number>(999).fill(1), 5000])
    expect(responseQuantile(counts, 0.99)).toBeLessThanOrEqual(1.01)
    expect(responseQuantile(counts, 1)).toBeGreaterThan(4000)
  })

  it('takes any time: none at all, a negative one, one that is too long', () => {
    const buckets = [0, -1, Number.NaN, 1e9].map(responseBucketOf)
    expect(buckets).toEqual([0, 0, 0, RESPONSE_BUCKETS - 1])
  })

  it('is 0 before the first answer', () => {
    expect(responseQuantile(countsOf([]), 0.99)).toBe(0)
  })
})
