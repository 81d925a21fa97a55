import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { furtherRequests, RateBucket } from '../../../src/http/access/rate-bucket.ts'

const LIMIT = { perSecond: 10, burst: 5 }

describe('RateBucket', () => {
  it('allows a burst, then one request each time that the rate permits', () => {
    const bucket = new RateBucket(LIMIT)
    const at = (nowMs: number): number => bucket.take(1, nowMs)
    expect([0, 0, 0, 0, 0].map(at)).toEqual([0, 0, 0, 0, 0])
    expect(at(0)).toBeCloseTo(100)
    expect(at(60)).toBeCloseTo(40)
    expect(at(100)).toBe(0)
    expect(at(100)).toBeCloseTo(100)
  })

  it('is full again after a pause, and never holds more than a burst', () => {
    const bucket = new RateBucket(LIMIT)
    expect(bucket.take(5, 0)).toBe(0)
    expect(bucket.take(5, 1e9)).toBe(0)
    expect(bucket.take(1, 1e9)).toBeGreaterThan(0)
  })

  it('takes nothing for a refused request', () => {
    const bucket = new RateBucket(LIMIT)
    bucket.take(4, 0)
    expect(bucket.take(3, 0)).toBeCloseTo(200)
    expect(bucket.take(1, 0)).toBe(0)
  })

  it('lets more than a burst pass when it is full, and makes the next ones wait for it', () => {
    const bucket = new RateBucket(LIMIT)
    expect(bucket.take(50, 0)).toBe(0)
    expect(bucket.take(1, 4_500)).toBeCloseTo(100)
    expect(bucket.take(1, 4_600)).toBe(0)
  })

  it('makes the next ones wait for what has run already', () => {
    const bucket = new RateBucket(LIMIT)
    bucket.spend(8, 0)
    expect(bucket.take(1, 0)).toBeCloseTo(400)
    expect(bucket.take(1, 400)).toBe(0)
  })

  it('counts each 64 KiB and each 5 ms of a request as one more', () => {
    expect(furtherRequests({ bytes: 65_535, ms: 4.9 })).toBe(0)
    expect(furtherRequests({ bytes: 64 * 65_536, ms: 12 })).toBe(66)
  })

  it('never allows more than the burst and the rate together, at random times', () => {
    const random = seededRandom(7)
    for (let run = 0; run < 50; run++) {
      const limit = { perSecond: 1 + random.next() * 1e4, burst: 1 + random.below(100) }
      const bucket = new RateBucket(limit)
      let nowMs = 0
      let taken = 0
      for (let request = 0; request < 500; request++) {
        nowMs += random.next() * 2
        if (bucket.take(1, nowMs) === 0) taken++
      }
      expect(taken).toBeLessThanOrEqual(limit.burst + (limit.perSecond * nowMs) / 1000 + 1e-3)
    }
  })

  it('counts for all buckets over the same word together', () => {
    const words = new BigInt64Array(new SharedArrayBuffer(16))
    const [one, other, apart] = [
      new RateBucket(LIMIT, words, 1),
      new RateBucket(LIMIT, words, 1),
      new RateBucket(LIMIT, words, 0),
    ]
    expect(one.take(3, 0)).toBe(0)
    expect(other.take(2, 0)).toBe(0)
    expect(other.take(1, 0)).toBeGreaterThan(0)
    expect(apart.take(5, 0)).toBe(0)
  })
})
