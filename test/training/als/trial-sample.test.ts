import { expect, it } from 'vitest'
import { trialSample } from '../../../src/training/als/trial-sample.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'

/** Users with so many ratings each; items are numbered within the user. */
const tableOf = (counts: readonly number[]) =>
  ratingsTable(
    counts.flatMap((count, user) =>
      Array.from({ length: count }, (_, item) => ({
        user: `u${user}`,
        item: `i${item}`,
        rating: 1,
        timestamp: -1,
      })),
    ),
  )

it('a trial has all ratings of a small table', () => {
  const table = tableOf([3, 40])
  expect(trialSample(table, 43)).toBe(table)
})

it('a trial has all ratings of its users, those of the most frequent padded length first', () => {
  const table = tableOf([40, 3, 12, 10, 11, 12])
  const sample = trialSample(table, 20)
  expect(sample.users).toEqual(['u2', 'u3'])
  expect(sample.size).toBe(22)
  expect(trialSample(table, 46).users).toEqual(['u0', 'u2', 'u3', 'u4', 'u5'])
})

it('a trial may have a single user with more ratings', () => {
  expect(trialSample(tableOf([1, 5000]), 1000).users).toEqual(['u1'])
})
