/** One observation: a user rated an item at a time. */
export interface Rating {
  /** Any text without control characters; ids of users and of items are separate names. */
  readonly user: string
  readonly item: string
  /** Finite; the scale is the data set's own (MovieLens: 0.5 or 1 to 5). */
  readonly rating: number
  /** Milliseconds since 1970, or -1 where the source has none. */
  readonly timestamp: number
}

/** Smallest and largest rating of a data set; predictions are clipped into it. */
export interface RatingRange {
  readonly min: number
  readonly max: number
}

/** `score` moved into `range`; scores outside of it cannot be right. */
export function clipRating(score: number, range: RatingRange): number {
  return Math.max(range.min, Math.min(range.max, score))
}
