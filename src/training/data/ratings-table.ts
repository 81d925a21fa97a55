import { requireArgument, WeirError } from '../../core/errors.ts'
import { kindOf } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
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

/** Mean, smallest and largest rating. Throws EMPTY_DATASET. */
export function ratingStatistics(table: RatingsTable): RatingRange & { readonly mean: number } {
  if (table.size === 0) {
    throw new WeirError('EMPTY_DATASET', 'there are no ratings; check the file and its format')
  }
  let sum = 0
  let min = Number.POSITIVE_INFINITY
  let max = Number.NEGATIVE_INFINITY
  for (const rating of table.rating) {
    sum += rating
    if (rating < min) min = rating
    if (rating > max) max = rating
  }
  return { mean: sum / table.size, min, max }
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
