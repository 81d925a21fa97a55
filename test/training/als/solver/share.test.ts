import { expect, it } from 'vitest'
import { alsSettings } from '../../../../src/training/als/solver/options.ts'
import { alsShare } from '../../../../src/training/als/solver/share.ts'
import { ratingsTable } from '../../../../src/training/data/ratings-table.ts'

const RATINGS = [
  ['u', 'x', 1],
  ['v', 'y', 2],
  ['w', 'y', 3],
  ['v', 'x', 4],
  ['u', 'y', 5],
  ['v', 'y', 6],
] as const

const table = ratingsTable(
  RATINGS.map(([user, item, rating]) => ({ user, item, rating, timestamp: 0 })),
)

it('a row has the other side in ascending order, and repeated ratings in the order of the table', () => {
  const { users, items } = alsShare(table, alsSettings({ factors: 2 }), 0)
  expect([...users.offsets]).toEqual([0, 2, 5, 6])
  expect([...users.indexes]).toEqual([0, 1, 0, 1, 1, 1])
  expect([...users.ratings]).toEqual([1, 5, 4, 2, 6, 3])
  expect([...items.offsets]).toEqual([0, 2, 6])
  expect([...items.indexes]).toEqual([0, 1, 0, 1, 1, 2])
  expect([...items.ratings]).toEqual([1, 4, 5, 2, 6, 3])
})

it('a panel holds the ratings of the longest row, in whole blocks', () => {
  const repeated = ratingsTable(
    Array.from({ length: 19 }, (_, k) => ({
      user: 'u',
      item: `${k % 3}`,
      rating: 1,
      timestamp: 0,
    })),
  )
  expect(alsShare(table, alsSettings({ factors: 64 }), 0).panelRows).toBe(8)
  expect(alsShare(repeated, alsSettings({ factors: 64 }), 0).panelRows).toBe(24)
})
