import { expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import {
  pairsSharedWith,
  ratingsOf,
  ratingsTable,
  summedByPair,
} from '../../../src/training/data/ratings-table.ts'

const rating = (user: string, item: string, value: number, timestamp = -1): Rating => {
  return { user, item, rating: value, timestamp }
}

it('the sum of a pair stands in the place of its first rating, with the time of the latest', () => {
  const table = ratingsTable([
    rating('a', 'x', 1, 500),
    rating('b', 'x', 2),
    rating('a', 'y', 4, 100),
    rating('a', 'x', 10, 200),
    rating('b', 'x', 0.5, 300),
  ])
  expect([...ratingsOf(summedByPair(table))]).toEqual([
    rating('a', 'x', 11, 500),
    rating('b', 'x', 2.5, 300),
    rating('a', 'y', 4, 100),
  ])
})

it('a table without a pair that comes again is the same', () => {
  const table = ratingsTable([rating('a', 'x', 1), rating('x', 'a', 1), rating('a', 'y', 1)])
  expect(summedByPair(table)).toBe(table)
})

it('sums and shared pairs are those of a plain map, in whatever order the pairs come', () => {
  const random = seededRandom(7)
  const draw = (): Rating[] =>
    Array.from({ length: 2000 }, () =>
      rating(`u${random.below(30)}`, `i${random.below(40)}`, random.below(9)),
    )
  const [one, other] = [draw(), draw().slice(0, 300)]
  const sums = new Map<string, number>()
  for (const { user, item, rating } of one) {
    sums.set(`${user} ${item}`, (sums.get(`${user} ${item}`) ?? 0) + rating)
  }
  const found = [...ratingsOf(summedByPair(ratingsTable(one)))]
  expect(found.map(({ user, item, rating }) => [`${user} ${item}`, rating])).toEqual([...sums])
  const shared = other.filter(({ user, item }) => sums.has(`${user} ${item}`)).length
  expect(shared).toBeLessThan(300)
  expect(pairsSharedWith(ratingsTable(other), ratingsTable(one))).toBe(shared)
})
