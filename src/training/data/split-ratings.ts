import { requireArgument } from '../../core/errors.ts'
import { murmur3 } from '../../core/hash/murmur3.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { seededRandom } from '../../core/random.ts'
import { foldRows } from './fold-rows.ts'
import { RATINGS_TABLE } from './kinds.ts'
import { countsOf, type RatingsTable, selectRatings } from './ratings-table.ts'

const encoder = new TextEncoder()

/** A table in two parts; both keep the order of the table. */
export interface RatingsSplit {
  readonly train: RatingsTable
  readonly test: RatingsTable
}

/**
 * Puts each rating into the test part with probability `testFraction`, 0 < fraction < 1. Throws
 * INVALID_ARGUMENT.
 */
export function splitAtRandom(table: RatingsTable, testFraction: number, seed = 1): RatingsSplit {
  checkArgument('splitAtRandom', 'table', RATINGS_TABLE, table)
  checkFraction(testFraction)
  const random = seededRandom(seed)
  return splitBy(
    table,
    Uint8Array.from({ length: table.size }, () => (random.next() < testFraction ? 1 : 0)),
  )
}

/**
 * Puts the latest `testFraction` of the ratings into the test part; ties in time are broken by user
 * id, then by position. Throws INVALID_ARGUMENT.
 */
export function splitByTime(table: RatingsTable, testFraction: number): RatingsSplit {
  checkArgument('splitByTime', 'table', RATINGS_TABLE, table)
  checkFraction(testFraction)
  const order = timeOrder(table)
  const inTest = new Uint8Array(table.size)
  for (const index of order.subarray(Math.round(table.size * (1 - testFraction)))) {
    inTest[index] = 1
  }
  return splitBy(table, inTest)
}

/**
 * Puts the latest `count` ratings of each user into the test part. Users with at most `count` ratings
 * stay in the training part, so that no test user is cold. Throws INVALID_ARGUMENT.
 */
export function splitLeaveLast(table: RatingsTable, count: number): RatingsSplit {
  checkArgument('splitLeaveLast', 'table', RATINGS_TABLE, table)
  requireArgument(
    Number.isSafeInteger(count) && count >= 1,
    `the number of ratings to leave out must be a whole number from 1, not ${count}`,
  )
  const total = countsOf(table.user, table.users.length)
  const taken = new Uint32Array(table.users.length)
  const inTest = new Uint8Array(table.size)
  for (const index of timeOrder(table).reverse()) {
    const user = table.user[index] as number
    if ((total[user] as number) <= count || (taken[user] as number) === count) continue
    taken[user] = (taken[user] as number) + 1
    inTest[index] = 1
  }
  return splitBy(table, inTest)
}

/**
 * The ratings without those of a share of the users. Whether a user is left out depends on the seed and the id alone: more
 * ratings, or another order of them, leave out the same users. `count` is how many were left out.
 */
export function withoutUsers(
  table: RatingsTable,
  share: number,
  seed = 1,
): { readonly table: RatingsTable; readonly count: number } {
  const isOut = Uint8Array.from(table.users, (user) =>
    murmur3(encoder.encode(`${seed}/${user}`)) < share * 2 ** 32 ? 1 : 0,
  )
  const indexes = Uint32Array.from({ length: table.size }, (_, index) => index)
  const kept = indexes.filter((index) => isOut[table.user[index]!] === 0)
  return { table: selectRatings(table, kept), count: isOut.reduce((sum, out) => sum + out, 0) }
}

/** `folds` splits at random: each rating is in exactly one test part. Throws INVALID_ARGUMENT. */
export function splitFolds(table: RatingsTable, folds: number, seed = 1): readonly RatingsSplit[] {
  checkArgument('splitFolds', 'table', RATINGS_TABLE, table)
  return foldRows(table.size, folds, seed).map(({ train, test }) => ({
    train: selectRatings(table, train),
    test: selectRatings(table, test),
  }))
}

/** `folds` splits by user: all ratings of a user are in one test part. Throws INVALID_ARGUMENT. */
export function splitFoldsByUser(
  table: RatingsTable,
  folds: number,
  seed = 1,
): readonly RatingsSplit[] {
  return foldRows(table.users.length, folds, seed).map(({ test }) => {
    const isTested = new Uint8Array(table.users.length)
    for (const user of test) isTested[user] = 1
    return splitBy(
      table,
      Uint8Array.from(table.user, (user) => isTested[user]!),
    )
  })
}

function checkFraction(fraction: number): void {
  requireArgument(
    typeof fraction === 'number' && fraction > 0 && fraction < 1,
    `the test fraction must be between 0 and 1, not ${fraction}`,
  )
}

/** Indexes of the ratings in ascending time. */
function timeOrder(table: RatingsTable): Uint32Array {
  const { timestamp, user, users } = table
  return Uint32Array.from({ length: table.size }, (_, index) => index).sort((a, b) => {
    const difference = (timestamp[a] as number) - (timestamp[b] as number)
    if (difference !== 0) return difference
    const [userA, userB] = [users[user[a] as number] ?? '', users[user[b] as number] ?? '']
    return userA < userB ? -1 : userA > userB ? 1 : a - b
  })
}

function splitBy(table: RatingsTable, inTest: Uint8Array): RatingsSplit {
  const indexes = Uint32Array.from({ length: table.size }, (_, index) => index)
  return {
    train: selectRatings(
      table,
      indexes.filter((index) => inTest[index] === 0),
    ),
    test: selectRatings(
      table,
      indexes.filter((index) => inTest[index] === 1),
    ),
  }
}
