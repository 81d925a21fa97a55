import { requireArgument, WeirError } from '../../core/errors.ts'
import { kindOf } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import type { Rating, RatingRange } from '../../models/ratings/rating.ts'
import { IdNumbers } from './id-numbers.ts'

/** Ratings in columns; ids are numbered in order of first appearance. */
export interface RatingsTable {
  /** Ids; a row's `user` and `item` are indexes into these. */
  readonly users: readonly string[]
  readonly items: readonly string[]
  /** Columns, all of length `size`. */
  readonly user: Uint32Array
  readonly item: Uint32Array
  readonly rating: Float32Array
  /** Milliseconds since 1970, or -1. */
  readonly timestamp: Float64Array
  readonly size: number
}

/** Largest number of ratings of a table, whose indexes have 32 bits. */
const MAX_RATINGS = 2 ** 32 - 1

/** Collects ratings into columns, 20 bytes each, that double as they fill. */
export class RatingsTableBuilder {
  private readonly users = new IdNumbers()
  private readonly items = new IdNumbers()
  private user = new Uint32Array(1024)
  private item = new Uint32Array(1024)
  private rating = new Float32Array(1024)
  private timestamp = new Float64Array(1024)
  private count = 0

  /** Number of ratings so far. */
  get size(): number {
    return this.count
  }

  /** Appends a rating. Throws NOT_FINITE if it is not a number. */
  add(user: string, item: string, rating: number, timestamp: number): void {
    if (!Number.isFinite(rating)) {
      throw new WeirError('NOT_FINITE', `user ${user} rated item ${item} with ${rating}`)
    }
    if (this.count === this.user.length) this.grow()
    this.user[this.count] = this.users.of(user)
    this.item[this.count] = this.items.of(item)
    this.rating[this.count] = rating
    this.timestamp[this.count] = timestamp
    this.count++
  }

  /** The table. It shares the columns of the builder, so nothing may be added afterwards. */
  build(): RatingsTable {
    const { users, items, count: size } = this
    return {
      users: users.ids,
      items: items.ids,
      user: this.user.subarray(0, size),
      item: this.item.subarray(0, size),
      rating: this.rating.subarray(0, size),
      timestamp: this.timestamp.subarray(0, size),
      size,
    }
  }

  private grow(): void {
    const capacity = this.user.length * 2
    requireArgument(
      capacity <= MAX_RATINGS,
      'a table holds at most 2^31 ratings; train on a sample',
    )
    this.user = grown(this.user, new Uint32Array(capacity))
    this.item = grown(this.item, new Uint32Array(capacity))
    this.rating = grown(this.rating, new Float32Array(capacity))
    this.timestamp = grown(this.timestamp, new Float64Array(capacity))
  }
}

function grown<T extends Uint32Array | Float32Array | Float64Array>(from: T, to: T): T {
  to.set(from)
  return to
}

/** A table of `ratings`. */
export function ratingsTable(ratings: Iterable<Rating>): RatingsTable {
  checkArgument('ratingsTable', 'ratings', RATING_LIST, ratings)
  const builder = new RatingsTableBuilder()
  for (const { user, item, rating, timestamp } of ratings)
    builder.add(user, item, rating, timestamp)
  return builder.build()
}

/** Row `index` of a table. */
export function ratingAt(table: RatingsTable, index: number): Rating {
  return {
    user: table.users[table.user[index] as number] as string,
    item: table.items[table.item[index] as number] as string,
    rating: table.rating[index] as number,
    timestamp: table.timestamp[index] as number,
  }
}

/** All rows of a table, in order. */
export function* ratingsOf(table: RatingsTable): Generator<Rating> {
  for (let i = 0; i < table.size; i++) yield ratingAt(table, i)
}

/** The rows at `indexes`, in that order, with their own ids. */
export function selectRatings(table: RatingsTable, indexes: Uint32Array): RatingsTable {
  const builder = new RatingsTableBuilder()
  for (const index of indexes) {
    const { user, item, rating, timestamp } = ratingAt(table, index)
    builder.add(user, item, rating, timestamp)
  }
  return builder.build()
}

/**
 * The table with one row for each user and item: the sum of their ratings, with the time of the latest, in the place of
 * the first. For events and counts, of which a pair has several. Takes 24 bytes a row and 8 an item while it works.
 */
export function summedByPair(table: RatingsTable): RatingsTable {
  const { user, item, size } = table
  const first = firstOfPair(table)
  const sums = new Float64Array(size)
  const latest = new Float64Array(size).fill(NO_TIMESTAMP)
  let rows = 0
  for (let row = 0; row < size; row++) {
    const at = first[row]!
    if (at === row) rows++
    sums[at]! += table.rating[row]!
    latest[at] = Math.max(latest[at]!, table.timestamp[row]!)
  }
  if (rows === size) return table
  const kept = first.filter((at, row) => at === row)
  return {
    ...table,
    user: kept.map((row) => user[row]!),
    item: kept.map((row) => item[row]!),
    rating: Float32Array.from(kept, (row) => sums[row]!),
    timestamp: Float64Array.from(kept, (row) => latest[row]!),
    size: rows,
  }
}

/** By row, the first row of the same user and item. */
function firstOfPair({
  users,
  items,
  user,
  item,
  size,
}: Omit<RatingsTable, 'rating' | 'timestamp'>): Uint32Array {
  const counts = countsOf(user, users.length)
  // The rows of each user, one user after the other, in their order.
  const next = new Uint32Array(users.length)
  for (let number = 1; number < users.length; number++) {
    next[number] = next[number - 1]! + counts[number - 1]!
  }
  const byUser = new Uint32Array(size)
  for (let row = 0; row < size; row++) byUser[next[user[row]!]!++] = row
  // The last user, plus 1, that had an item, and in which row first.
  const hadBy = new Uint32Array(items.length)
  const hadAt = new Uint32Array(items.length)
  const first = new Uint32Array(size)
  for (const row of byUser) {
    const [owner, what] = [user[row]! + 1, item[row]!]
    if (hadBy[what] !== owner) {
      hadBy[what] = owner
      hadAt[what] = row
    }
    first[row] = hadAt[what]!
  }
  return first
}

/** Number of the rows from a place on whose user and item a row before it has, too. */
export function pairsRepeatedFrom(table: RatingsTable, place: number): number {
  return firstOfPair(table)
    .subarray(place)
    .filter((row) => row < place).length
}

/** Number of rows of a table whose user and item another table has too. */
export function pairsSharedWith(table: RatingsTable, other: RatingsTable): number {
  const users = new IdNumbers()
  const items = new IdNumbers()
  const both = {
    size: other.size + table.size,
    user: new Uint32Array(other.size + table.size),
    item: new Uint32Array(other.size + table.size),
  }
  let at = 0
  for (const one of [other, table]) {
    const [user, item] = [one.users.map((id) => users.of(id)), one.items.map((id) => items.of(id))]
    for (let row = 0; row < one.size; row++, at++) {
      both.user[at] = user[one.user[row]!]!
      both.item[at] = item[one.item[row]!]!
    }
  }
  const first = firstOfPair({ ...both, users: users.ids, items: items.ids })
  return first.subarray(other.size).filter((row) => row < other.size).length
}

/** Mean (of ratings with `weights` the weighted one), smallest and largest rating. Throws EMPTY_DATASET. */
export function ratingStatistics(
  table: RatingsTable,
  weights?: Float32Array,
): RatingRange & { readonly mean: number } {
  if (table.size === 0) {
    throw new WeirError('EMPTY_DATASET', 'there are no ratings; check the file and its format')
  }
  let sum = 0
  let count = 0
  let min = Number.POSITIVE_INFINITY
  let max = Number.NEGATIVE_INFINITY
  for (const [n, rating] of table.rating.entries()) {
    const weight = weights?.[n] ?? 1
    sum += weight * rating
    count += weight
    if (rating < min) min = rating
    if (rating > max) max = rating
  }
  return { mean: sum / count, min, max }
}

/** Number of occurrences of each number below `length` in a column: the ratings of each user or item. */
export function countsOf(column: Uint32Array, length: number): Uint32Array {
  const counts = new Uint32Array(length)
  for (const number of column) counts[number]!++
  return counts
}

const RATING_LIST = kindOf<Iterable<Rating>>(
  'a list of ratings',
  (given) => typeof given === 'object' && given !== null && Symbol.iterator in given,
)
