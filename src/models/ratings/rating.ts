/** One observation: a user rated an item at a time. */
export interface Rating {
  /** Any text without control characters. A user and an item may have the same id. */
  readonly user: string
  readonly item: string
  /** Finite, on the scale of the data set (MovieLens: 0.5 or 1 to 5). */
  readonly rating: number
  /** Milliseconds since 1970, or -1 where the source has none. */
  readonly timestamp: number
}

/** Smallest and largest rating of a data set; predictions are clipped to them. */
export interface RatingRange {
  readonly min: number
  readonly max: number
}

/** `score` clipped to `range`: scores outside cannot be right. */
export function clipRating(score: number, range: RatingRange): number {
  return Math.max(range.min, Math.min(range.max, score))
}

/** Largest value of a rating, above and below 0: squares of larger ones leave the range of float32. */
export const LARGEST_RATING = 1e15
