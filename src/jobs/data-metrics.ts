import { type RatingsTable, ratingStatistics } from '../training/ratings-table.ts'

/**
 * What the data check of a promotion wants to know of the data that a version was trained on, as
 * metrics of its lineage. Throws EMPTY_DATASET.
 */
export function dataMetrics(table: RatingsTable, unparsable = 0): Readonly<Record<string, number>> {
  const { min, max } = ratingStatistics(table)
  return { observations: table.size, unparsable, smallestRating: min, largestRating: max }
}
