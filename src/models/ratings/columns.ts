/** Positions of the fields of a rating in a line, from 0. */
export interface RatingColumns {
  readonly user: number
  readonly item: number
  readonly rating: number
  /** Undefined: the lines have no time. */
  readonly time: number | undefined
}

/** Words in the names of columns. A name is that of the first kind that has one of its words. */
const WORDS = {
  rating: ['rating', 'score', 'stars', 'strength', 'count', 'plays', 'value'],
  time: ['time', 'date', 'seconds'],
  user: ['user', 'customer', 'reviewer', 'visitor'],
  item: ['item', 'movie', 'product', 'track', 'song', 'artist', 'book', 'article', 'asin'],
} as const

/**
 * The columns that a header names, in any order and among others; the first column of a kind counts.
 * Undefined if a user, an item or a rating has no column, so that the line is no header with known names.
 */
export function columnsOfHeader(names: readonly string[]): RatingColumns | undefined {
  const found: Partial<Record<keyof typeof WORDS, number>> = {}
  for (const [at, name] of names.entries()) {
    const kind = kindOf(name)
    if (kind !== undefined) found[kind] ??= at
  }
  const { user, item, rating, time } = found
  if (user === undefined || item === undefined || rating === undefined) return undefined
  return { user, item, rating, time }
}

function kindOf(name: string): keyof typeof WORDS | undefined {
  const text = name.toLowerCase()
  const kinds = Object.keys(WORDS) as (keyof typeof WORDS)[]
  return kinds.find((kind) => WORDS[kind].some((word) => text.includes(word)))
}

/** Whether the columns are user, item, rating and perhaps a time, in this order and no others before. */
export function isUsualOrder({ user, item, rating, time }: RatingColumns): boolean {
  return user === 0 && item === 1 && rating === 2 && (time === undefined || time === 3)
}
