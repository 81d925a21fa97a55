import { describe, expect, it } from 'vitest'
import { evaluateServed } from '../../src/jobs/evaluate-served.ts'
import { ratingsTable } from '../../src/training/ratings-table.ts'
import type { ModelReader } from '../../src/wire/model-reader.ts'

/** Answers 4 for everybody and knows no user 9. */
const reader = {
  predict: (_: string, left: string) =>
    Promise.resolve({ score: 4, leftCold: left === '9-U', rightCold: false }),
} as unknown as ModelReader

const rate = (user: string, rating: number) => ({ user, item: '1', rating, timestamp: -1 })

describe('evaluation of a served model', () => {
  it('counts every pair, cold ones too', async () => {
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

  it('clips predictions into the rating scale where one is given', async () => {
    const options = { state: 'ALS_MODEL', query: {}, range: { min: 1, max: 3 } }
    const errors = await evaluateServed(reader, ratingsTable([rate('1', 3)]), options)
    expect(errors.rmse).toBe(0)
  })
})
