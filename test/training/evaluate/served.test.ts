import { describe, expect, it } from 'vitest'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { evaluateRankingServed } from '../../../src/training/evaluate/ranking-served.ts'
import { evaluateServed } from '../../../src/training/evaluate/served.ts'
import type { ModelReader } from '../../../src/wire/model-reader.ts'

/** Answers 4 for everybody and knows no user 9. */
const reader = {
  predict: (_: string, left: string) =>
    Promise.resolve({ score: 4, leftCold: left === '9-U', rightCold: false }),
} as unknown as ModelReader

const rate = (user: string, rating: number) => ({ user, item: '1', rating, timestamp: -1 })

describe('evaluation of a served model', () => {
  it('counts every pair, including cold ones', async () => {
    const ratings = ratingsTable([rate('1', 3), rate('2', 5), rate('9', 4)])
    const done: number[] = []
    const errors = await evaluateServed(reader, ratings, {
      state: 'ALS_MODEL',
      query: {},
      outstanding: 2,
      onProgress: (count) => done.push(count),
    })
    expect(errors.count).toBe(3)
    expect(errors.mse).toBeCloseTo(2 / 3, 10)
    expect(errors.coverage).toMatchObject({ known: 2, coldUser: 1, coldItem: 0, coldBoth: 0 })
    expect(done).toEqual([2, 3])
  })

  it('clips predictions to the rating scale if one is given', async () => {
    const options = { state: 'ALS_MODEL', query: {}, range: { min: 1, max: 3 } }
    const errors = await evaluateServed(reader, ratingsTable([rate('1', 3)]), options)
    expect(errors.rmse).toBe(0)
  })

  it('reads a stream in pieces, and no more than it needs', async () => {
    let asked = 0
    async function* stream(): AsyncGenerator<readonly Rating[]> {
      for (let i = 0; i < 10; i++) {
        expect(i).toBeLessThanOrEqual(asked)
        yield [rate('1', 3), rate('2', 5)]
      }
    }
    const errors = await evaluateServed(reader, stream(), {
      state: 'ALS_MODEL',
      query: {},
      onProgress: (done) => {
        asked = done / 2
      },
    })
    expect(errors).toMatchObject({ count: 20, mse: 1, mae: 1, maeLow: 1, maeHigh: 1 })
  })
})

describe('evaluation of served top-k lists', () => {
  const items = ['a', 'b', 'c', 'd', 'e']
  const lists = {
    topK: (_: string, __: string, { k, exclude = [] }: { k: number; exclude?: string[] }) =>
      Promise.resolve({
        ok: true,
        value: items
          .filter((item) => !exclude.includes(`${item}-I`))
          .slice(0, k)
          .map((item) => ({ key: `${item}-I`, score: 1 })),
      }),
  } as unknown as ModelReader
  const rateItem = (user: string, item: string, rating: number) => ({
    user,
    item,
    rating,
    timestamp: -1,
  })

  it("compares each user's list, without what it has seen, with its relevant items", async () => {
    const ratings = ratingsTable([
      rateItem('1', 'b', 5),
      rateItem('1', 'e', 1),
      rateItem('2', 'c', 4),
    ])
    const options = { state: 'ALS_MODEL', query: {}, k: 2, relevantFrom: 4 }
    const plain = await evaluateRankingServed(lists, ratings, options)
    expect(plain.users).toBe(2)
    expect(plain.precision.mean).toBe(0.25)
    expect(plain.recall.mean).toBe(0.5)
    const seen = new Map([['2', new Set(['a', 'b'])]])
    const left = await evaluateRankingServed(lists, ratings, { ...options, seen })
    expect(left.recall.mean).toBe(1)
    expect(left.ndcg.mean).toBeCloseTo((1 / Math.log2(3) + 1) / 2, 10)
  })

  it('requests and cuts longer lists for a user with more seen items than a request may exclude', async () => {
    const many = new Set([...items.slice(0, 3), ...Array.from({ length: 300 }, (_, i) => `x${i}`)])
    const ratings = ratingsTable([rateItem('1', 'd', 5)])
    const found = await evaluateRankingServed(lists, ratings, {
      state: 'ALS_MODEL',
      query: {},
      k: 1,
      seen: new Map([['1', many]]),
    })
    expect(found.precision.mean).toBe(1)
  })
})
