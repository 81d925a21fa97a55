import type { SparseTable } from '../../training/data/sparse-table.ts'
import type { LinearModel } from '../../training/linear/model.ts'

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
