import { describe, expect, it } from 'vitest'
import {
  boundsOf,
  bucketOf,
  ITEM_BUCKETS,
  TIME_BUCKETS,
} from '../../../src/inference/queue/buckets.ts'

describe.each([TIME_BUCKETS, ITEM_BUCKETS])('the buckets %j', (buckets) => {
  const bounds = boundsOf(buckets)

  it('double, and the last one takes what is above', () => {
    expect(bounds).toHaveLength(buckets.count)
    expect(bounds.at(-1)).toBe(Number.POSITIVE_INFINITY)
    for (let i = 1; i < bounds.length - 1; i++) expect(bounds[i]).toBe(2 * bounds[i - 1]!)
  })

  it('take each value at their bound, and what is above it into the next one', () => {
    bounds.slice(0, -1).forEach((bound, i) => {
      expect(bucketOf(bound, buckets)).toBe(i)
      expect(bucketOf(bound * 1.001, buckets)).toBe(i + 1)
    })
    expect(bucketOf(1e12, buckets)).toBe(buckets.count - 1)
    expect([0, -1, Number.NaN].map((value) => bucketOf(value, buckets))).toEqual([0, 0, 0])
  })
})
