import { describe, expect, it } from 'vitest'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import {
  type RatingsTable,
  ratingsOf,
  ratingsTable,
} from '../../../src/training/data/ratings-table.ts'
import {
  type RatingsSplit,
  splitAtRandom,
  splitByTime,
  splitFolds,
  splitFoldsByUser,
  splitLeaveLast,
  withoutUsers,
} from '../../../src/training/data/split-ratings.ts'

const table = ratingsTable(generateRatings({ users: 60, items: 40, ratings: 2000, meanGapMs: 9 }))

const lines = (part: RatingsTable): string[] =>
  Array.from(ratingsOf(part), (rating) => Object.values(rating).join(' '))

const SPLITS: [string, () => RatingsSplit][] = [
  ['at random', () => splitAtRandom(table, 0.25, 7)],
  ['by time', () => splitByTime(table, 0.25)],
  ['leaving the last two of each user', () => splitLeaveLast(table, 2)],
]

describe.each(SPLITS)('a split %s', (_, split) => {
  it('puts every rating into exactly one part and is repeatable', () => {
    const { train, test } = split()
    expect([...lines(train), ...lines(test)].sort()).toEqual(lines(table).sort())
    expect(lines(split().test)).toEqual(lines(test))
  })
})

describe('ratings without a share of the users', () => {
  it('are without all ratings of these users, about as many as were asked for', () => {
    const { table: left, count } = withoutUsers(table, 0.25, 7)
    expect(left.users).toHaveLength(table.users.length - count)
    expect(count).toBeGreaterThan(5)
    expect(count).toBeLessThan(25)
    const kept = new Set(left.users)
    const own = [...ratingsOf(table)].filter(({ user }) => kept.has(user))
    expect(lines(left)).toEqual(lines(ratingsTable(own)))
  })

  it('leave out the same users in another order, and others with another seed', () => {
    const users = (seed: number, from = table): string[] =>
      [...withoutUsers(from, 0.25, seed).table.users].sort()
    const turned = ratingsTable([...ratingsOf(table)].reverse().slice(0, 1500))
    const there = new Set(turned.users)
    expect(users(7, turned)).toEqual(users(7).filter((user) => there.has(user)))
    expect(users(7)).not.toEqual(users(8))
  })
})

describe('folds', () => {
  it('test every rating exactly once, and train on all other ratings', () => {
    const folds = splitFolds(table, 5)
    expect(folds.map(({ test }) => test.size)).toEqual([400, 400, 400, 400, 400])
    expect(folds.flatMap(({ test }) => lines(test)).sort()).toEqual(lines(table).sort())
    for (const { train, test } of folds) {
      expect([...lines(train), ...lines(test)].sort()).toEqual(lines(table).sort())
    }
  })

  it('by user test each user in exactly one fold, with all ratings', () => {
    const folds = splitFoldsByUser(table, 4)
    expect(folds.flatMap(({ test }) => test.users).sort()).toEqual([...table.users].sort())
    for (const { train, test } of folds) {
      expect(new Set([...train.users, ...test.users]).size).toBe(table.users.length)
      expect([...lines(train), ...lines(test)].sort()).toEqual(lines(table).sort())
    }
  })

  it('change with the seed', () => {
    const [first, second] = [splitFolds(table, 2, 1)[0], splitFolds(table, 2, 2)[0]]
    expect(lines(first?.test ?? table)).not.toEqual(lines(second?.test ?? table))
  })
})

describe('the test part', () => {
  it('at random has about the given size and changes with the seed', () => {
    const { test } = splitAtRandom(table, 0.25, 7)
    expect(Math.abs(test.size - 500)).toBeLessThan(60)
    expect(lines(splitAtRandom(table, 0.25, 8).test)).not.toEqual(lines(test))
  })

  it('by time has the latest ratings', () => {
    const { train, test } = splitByTime(table, 0.2)
    expect(test.size).toBe(400)
    expect(Math.max(...train.timestamp)).toBeLessThanOrEqual(Math.min(...test.timestamp))
  })

  it('by time breaks ties by user, not by the order of the file', () => {
    const tied = ['b', 'a', 'd', 'c'].map((user) => ({ user, item: '1', rating: 1, timestamp: 5 }))
    expect(splitByTime(ratingsTable(tied), 0.5).test.users).toEqual(['d', 'c'])
  })

  it('leaving out the last n has the n latest ratings of each user with more', () => {
    const few = [1, 2, 3].map((timestamp) => ({ user: 'x', item: '1', rating: 1, timestamp }))
    const all = ratingsTable([...few, { user: 'y', item: '1', rating: 1, timestamp: 9 }])
    const { train, test } = splitLeaveLast(all, 1)
    expect(Array.from(test.timestamp)).toEqual([3])
    expect(Array.from(train.timestamp)).toEqual([1, 2, 9])
  })

  it.each([0, 1, Number.NaN])('refuses the fraction %d', (fraction) => {
    expect(() => splitAtRandom(table, fraction)).toThrow(/between 0 and 1/)
    expect(() => splitByTime(table, fraction)).toThrow(/between 0 and 1/)
  })
})
