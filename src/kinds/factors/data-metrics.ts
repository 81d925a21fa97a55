import { type RatingsTable, ratingStatistics } from '../../training/data/ratings-table.ts'

/** Ratings in memory, or the statistics of ratings in files. */
export type MeasuredRatings =
  | RatingsTable
  | { readonly size: number; readonly statistics: { readonly min: number; readonly max: number } }

/**
 * Metrics of a version's training data for its lineage; the data check of a promotion reads them.
 * Throws EMPTY_DATASET.
 */
export function dataMetrics(
  table: MeasuredRatings,
  unparsable = 0,
): Readonly<Record<string, number>> {
  const { min, max } = 'statistics' in table ? table.statistics : ratingStatistics(table)
  return { observations: table.size, unparsable, smallestRating: min, largestRating: max }
}
