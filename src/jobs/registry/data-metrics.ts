import { type RatingsTable, ratingStatistics } from '../../training/data/ratings-table.ts'
import type { SparseTable } from '../../training/data/sparse-table.ts'
import type { LinearModel } from '../../training/linear/model.ts'

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

/** What `exampleMetrics` adds to table and model. */
export interface ExampleMetricsOptions {
  /** Relative duality gap that the training was to reach. */
  readonly tolerance: number
  /** Records that were no examples. @default 0 */
  readonly unparsable?: number
  /** Number of examples that the model was trained on. @default all of the table */
  readonly rows?: number
}

/** Metrics of a linear version's training for its lineage; the data check of a promotion reads them. */
export function exampleMetrics(
  table: SparseTable,
  model: LinearModel,
  { tolerance, unparsable = 0, rows = table.rows }: ExampleMetricsOptions,
): Readonly<Record<string, number>> {
  return {
    observations: rows,
    unparsable,
    objective: Math.min(...model.history.map(({ primal }) => primal)),
    relativeGap: model.history.at(-1)?.relativeGap ?? Number.NaN,
    tolerance,
  }
}
