import { describe, expect, it } from 'vitest'
import { RankingAccumulator } from '../../../src/training/metrics/ranking.ts'

describe('ranking metrics', () => {
  it('are those of a list calculated by hand', () => {
    const lists = new RankingAccumulator<string>(4)
    lists.add(['a', 'b', 'c', 'd'], new Set(['b', 'd', 'x']))
    const { precision, recall, ndcg, map, users } = lists.summary()
    expect(users).toBe(1)
    expect(precision.mean).toBe(0.5)
    expect(recall.mean).toBeCloseTo(2 / 3, 12)
    // Precision 1/2 at rank 2 and 2/4 at rank 4; the third relevant item is missed.
    expect(map.mean).toBeCloseTo(1 / 3, 12)
    const gain = 1 / Math.log2(3) + 1 / Math.log2(5)
    expect(ndcg.mean).toBeCloseTo(gain / (1 + 1 / Math.log2(3) + 1 / Math.log2(4)), 12)
  })

  it('are 1 for a list of exactly the relevant items, with an interval of width 0', () => {
    const lists = new RankingAccumulator<string>(2)
    lists.add(['a', 'b'], new Set(['a', 'b']))
    lists.add(['c', 'd'], new Set(['d', 'c']))
    expect(lists.summary().ndcg).toEqual({ mean: 1, low: 1, high: 1 })
    expect(lists.summary().map).toEqual({ mean: 1, low: 1, high: 1 })
  })

  it('average over users with relevant items', () => {
    const lists = new RankingAccumulator<string>(1)
    lists.add(['a'], new Set(['a']))
    lists.add(['a'], new Set(['b']))
    lists.add(['a'], new Set())
    const { users, precision } = lists.summary()
    expect(users).toBe(2)
    expect(precision.mean).toBe(0.5)
    expect(precision.high - precision.low).toBeCloseTo(2 * 1.959964 * 0.5, 6)
  })

  it('count at most k relevant items in the average precision', () => {
    const lists = new RankingAccumulator<string>(2)
    lists.add(['a', 'b'], new Set(['a', 'b', 'c', 'd']))
    expect(lists.summary().map.mean).toBe(1)
  })

  it('say how much of the catalogue the lists cover and how few users know the items', () => {
    const raters = { users: 8, of: new Map(Object.entries({ a: 8, b: 2, d: 1 })) }
    const lists = new RankingAccumulator<string>(2, { items: 10, raters })
    lists.add(['a', 'b', 'd'], new Set(['x']))
    lists.add(['b', 'new'], new Set(['x']))
    lists.add(['d'], new Set())
    const { distinctItems, coverage, novelty } = lists.summary()
    expect(distinctItems).toBe(3)
    expect(coverage).toBeCloseTo(0.3, 12)
    // 0 and 2 bits; 2 and 3 bits, because an item without raters counts as one with one.
    expect(novelty?.mean).toBeCloseTo((1 + 2.5) / 2, 12)
  })

  it('leave out what depends on an unknown catalogue', () => {
    const lists = new RankingAccumulator<string>(1)
    lists.add(['a'], new Set(['a']))
    const summary = lists.summary()
    expect(summary.distinctItems).toBe(1)
    expect('coverage' in summary || 'novelty' in summary).toBe(false)
  })

  it('refuse a summary without lists', () => {
    expect(() => new RankingAccumulator(5).summary()).toThrow(/no list was evaluated/)
  })
})
