import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import { evaluateAls } from '../../../src/training/als/evaluate.ts'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import { trainBmf } from '../../../src/training/bmf/train.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { readRatings } from '../../../src/training/data/read-ratings.ts'
import { needs } from '../../run/needs.ts'

const table = ratingsTable(generateRatings({ users: 2000, items: 500, ratings: 100_000 }))

const bytesOf = (model: AlsModel): Buffer =>
  Buffer.concat([
    ...model.users.map((_, index) => new Uint8Array(model.row('U', index).slice().buffer)),
    ...model.items.map((_, index) => new Uint8Array(model.row('I', index).slice().buffer)),
  ])

it('gives the same bits on 0, 1, 2 and 3 threads', async () => {
  const options = { factors: 12, sweeps: 4, burnIn: 1 }
  const expected = await trainBmf(table, { ...options, threads: 0 })
  for (const threads of [1, 2, 3]) {
    const { model, history } = await trainBmf(table, { ...options, threads })
    expect(bytesOf(model).equals(bytesOf(expected.model))).toBe(true)
    expect(history.map(({ noise }) => noise)).toEqual(expected.history.map(({ noise }) => noise))
  }
})

const u1 = (part: string): URL =>
  new URL(`../../../../shared/data/ml-100k/u1.${part}`, import.meta.url)

describe(
  'trainBmf on MovieLens 100K',
  needs(existsSync(u1('base')), 'MovieLens 100K is not beside the repository'),
  () => {
    it('has at most 0.912 on fold u1 with its defaults, every pair counted (ALS: 0.921)', async () => {
      const { table } = await readRatings(u1('base'))
      const { model } = await trainBmf(table, { threads: 2 })
      const { table: held } = await readRatings(u1('test'))
      expect(evaluateAls(model, held).rmse).toBeLessThan(0.912)
    })
  },
)
