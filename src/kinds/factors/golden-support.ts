/** A golden rating of an item, with the candidate's prediction of it. */
export interface PredictedRating {
  readonly rating: number
  readonly prediction: number
}

/** Fewest golden ratings that can support an item. */
const MIN_RATINGS = 5
/**
 * Standard errors by which the mean prediction of a risen item may be above the mean rating, and that of a fallen one below
 * it. Of items that rise, those without support are the rule after an attack; a list that changes honestly has several
 * that fall, and each is another chance of a false refusal.
 */
const MARGINS = { rise: 2, fall: 4 } as const

/** How an item has moved in the lists. */
export type ListMove = 'rise' | 'fall'

/**
 * Whether golden ratings support that an item has moved in the lists. A rise: there are at least five, and their mean is
 * not certainly below the mean prediction. An attack on an item raises its predictions but not its golden ratings; an item
 * that new users like has both. A fall: their mean is not certainly above it. An item with fewer than five may fall:
 * nothing supported its place either, and a handful of high ratings is often followed by lower ones.
 */
export function isSupported(pairs: readonly PredictedRating[], move: ListMove): boolean {
  const count = pairs.length
  if (count < MIN_RATINGS) return move === 'fall'
  const sign = move === 'rise' ? 1 : -1
  const above = pairs.map(({ rating, prediction }) => sign * (prediction - rating))
  const mean = above.reduce((sum, each) => sum + each, 0) / count
  const squares = above.reduce((sum, each) => sum + (each - mean) ** 2, 0)
  return mean <= MARGINS[move] * Math.sqrt(squares / (count - 1) / count)
}
