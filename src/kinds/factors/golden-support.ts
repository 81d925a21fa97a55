/** A golden rating of an item, with the candidate's prediction of it. */
export interface PredictedRating {
  readonly rating: number
  readonly prediction: number
}

/** Fewest golden ratings that can support an item. */
const MIN_RATINGS = 5
/** Standard errors by which the mean prediction may be above the mean rating. */
const MARGIN = 2

/**
 * Whether golden ratings support what a candidate predicts for an item: there are at least five, and their
 * mean is not certainly below the mean prediction. An attack on an item raises its predictions but not its
 * golden ratings; an item that new users like has both.
 */
export function isSupported(pairs: readonly PredictedRating[]): boolean {
  const count = pairs.length
  if (count < MIN_RATINGS) return false
  const above = pairs.map(({ rating, prediction }) => prediction - rating)
  const mean = above.reduce((sum, each) => sum + each, 0) / count
  const squares = above.reduce((sum, each) => sum + (each - mean) ** 2, 0)
  return mean <= MARGIN * Math.sqrt(squares / (count - 1) / count)
}
