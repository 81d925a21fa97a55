import { expect, it } from 'vitest'
import { certainRise, interval, ndcgLoss, riseOfLoss } from './plain-measures.ts'

it('an interval is 1.96 standard errors of the mean', () => {
  // Deviations of 1 and -1: variance 4 / 3, standard error the root of a third.
  expect(interval([1, 3, 1, 3])).toBeCloseTo(1.96 * Math.sqrt(1 / 3), 12)
})

it('a rise is certain where all cases rise alike, and not where they go both ways', () => {
  expect(certainRise([1, 5, 9], [1.5, 5.5, 9.5])).toBeCloseTo(0.5, 12)
  expect(certainRise([1, 5, 9], [3, 5, 8])).toBeLessThan(0)
  expect(() => certainRise([1], [1, 2])).toThrow('1 and 2 losses')
})

it('a loss has risen where it is above its interval, or is no number', () => {
  const before = [1, 3, 1, 3]
  const rising = (by: number): string | undefined =>
    riseOfLoss(
      before,
      before.map((loss) => loss + by),
    )
  const half = interval(before)
  expect([rising(-1), rising(0), rising(0.99 * half)]).toEqual([undefined, undefined, undefined])
  expect(rising(1.01 * half)).toContain('the loss rose from 2 to')
  expect(rising(Number.NaN)).toBe('the loss rose from 2 to NaN')
  expect(riseOfLoss([], before)).toBeUndefined()
})

it('a list loses what it misses of the gain of the best list', () => {
  const relevant = new Set(['a', 'b'])
  expect(ndcgLoss(['a', 'b', 'c'], relevant)).toBeCloseTo(0, 12)
  expect(ndcgLoss(['c', 'd'], relevant)).toBe(1)
  // The gain at rank 2 is 1 / log2(3), the best possible 1 + 1 / log2(3).
  const second = 1 / Math.log2(3)
  expect(ndcgLoss(['c', 'a'], relevant)).toBeCloseTo(1 - second / (1 + second), 12)
})
