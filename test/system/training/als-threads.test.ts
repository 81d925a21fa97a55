import { expect, it } from 'vitest'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'

const table = ratingsTable(generateRatings({ users: 2000, items: 500, ratings: 100_000 }))

const bytesOf = (model: AlsModel): Buffer =>
  Buffer.concat([
    ...model.users.map((_, index) => new Uint8Array(model.row('U', index).slice().buffer)),
    ...model.items.map((_, index) => new Uint8Array(model.row('I', index).slice().buffer)),
  ])

it.each([
  { solver: 'cholesky', biases: true },
  { solver: 'cg', biases: true },
  { solver: 'cholesky', feedback: 'implicit' },
  { solver: 'cg', feedback: 'implicit' },
] as const)('training with %o gives the same bits on 0, 1, 2 and 3 threads', async (variant) => {
  const options = { ...variant, factors: 12, iterations: 3 }
  const expected = await trainAls(table, { ...options, threads: 0 })
  for (const threads of [1, 2, 3]) {
    const model = await trainAls(table, { ...options, threads })
    expect(bytesOf(model).equals(bytesOf(expected))).toBe(true)
    expect(model.history.map(({ objective }) => objective)).toEqual(
      expected.history.map(({ objective }) => objective),
    )
  }
})
