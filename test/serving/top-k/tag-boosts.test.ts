import { describe, expect, it } from 'vitest'
import { boosted, TagBoosts } from '../../../src/serving/top-k/tag-boosts.ts'

describe('boosts by tag', () => {
  const boosts = new TagBoosts([
    { bit: 0, factor: 1.5 },
    { bit: 31, factor: 0.5 },
    { bit: 63, factor: 3 },
  ])

  it('multiply for a row with several tags', () => {
    const high = 1 << 31
    expect(boosts.factorOf({ low: 0, high: 0 })).toBe(1)
    expect(boosts.factorOf({ low: 1, high: 0 })).toBe(1.5)
    expect(boosts.factorOf({ low: (1 << 31) | 1, high })).toBe(2.25)
    expect(boosts.factorOf({ low: 2, high: 1 })).toBe(1)
  })

  it('bring a row further up where the factor is above 1, also one with a score below 0', () => {
    expect(boosted(2, 1.5)).toBe(3)
    expect(boosted(-3, 1.5)).toBe(-2)
    expect(boosted(-3, 0.5)).toBe(-6)
    expect(boosted(0, 4)).toBe(0)
  })

  it('have a bound that no row can pass with any tags, and that is not far below', () => {
    for (const threshold of [7, 0.1, 0, -0.3, -12]) {
      const bound = boosts.boundOf(threshold)
      expect(boosted(bound, 4.5)).toBeLessThanOrEqual(threshold)
      expect(boosted(bound, 4.5)).toBeCloseTo(threshold, 6)
    }
    expect(boosts.boundOf(Number.NEGATIVE_INFINITY)).toBe(Number.NEGATIVE_INFINITY)
    expect(new TagBoosts([{ bit: 1, factor: 0.5 }]).boundOf(2)).toBeCloseTo(2, 6)
  })
})
