import { describe, expect, it } from 'vitest'
import { RankingAccumulator } from '../../src/training/ranking-metrics.ts'

describe('ranking metrics', () => {
  it('are those of a list worked out by hand', () => {
    const lists = new RankingAccumulator(4)
    lists.add(['a', 'b', 'c', 'd'], new Set(['b', 'd', 'x']))
    const { precision, recall, ndcg, users } = lists.summary()
    expect(users).toBe(1)
    expect(precision.mean).toBe(0.5)
    expect(recall.mean).toBeCloseTo(2 / 3, 12)
    const gain = 1 / Math.log2(3) + 1 / Math.log2(5)
    expect(ndcg.mean).toBeCloseTo(gain / (1 + 1 / Math.log2(3) + 1 / Math.log2(4)), 12)
  })

  it('are 1 for a list that is all that is relevant, with an interval of no width', () => {
    const lists = new RankingAccumulator(2)
    lists.add(['a', 'b'], new Set(['a', 'b']))
    lists.add(['c', 'd'], new Set(['d', 'c']))
    expect(lists.summary().ndcg).toEqual({ mean: 1, low: 1, high: 1 })
  })

  it('average over users to whom something is relevant', () => {
    const lists = new RankingAccumulator(1)
    lists.add(['a'], new Set(['a']))
    lists.add(['a'], new Set(['b']))
    lists.add(['a'], new Set())
    const { users, precision } = lists.summary()
    expect(users).toBe(2)
    expect(precision.mean).toBe(0.5)
    expect(precision.high - precision.low).toBeCloseTo(2 * 1.959964 * 0.5, 6)
  })

  it('refuse to be read before anything was measured', () => {
    expect(() => new RankingAccumulator(5).summary()).toThrow(/no list was evaluated/)
  })
})
