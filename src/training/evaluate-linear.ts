import { ClassificationAccumulator, type ClassificationSummary } from './classification-metrics.ts'
import { foldRows } from './fold-rows.ts'
import type { LinearModel } from './linear-model.ts'
import type { LinearOptions } from './linear-options.ts'
import type { SparseTable } from './sparse-table.ts'
import { trainLinear } from './train-linear.ts'

/** Quality of a classifier on rows of a table (all of them by default). Throws EMPTY_DATASET. */
export function evaluateLinear(
  model: LinearModel,
  table: SparseTable,
  rows?: Uint32Array,
): ClassificationSummary {
  const quality = new ClassificationAccumulator(model.loss === 'logistic')
  addRows(quality, model, table, rows ?? Uint32Array.from({ length: table.rows }, (_, row) => row))
  return quality.summary()
}

function addRows(
  quality: ClassificationAccumulator,
  model: LinearModel,
  table: SparseTable,
  rows: Uint32Array,
): void {
  for (const row of rows) {
    const isPositive = table.labels[row] === model.labels.positive
    quality.add(isPositive, model.decisionOfRow(table, row))
  }
}

/**
 * Trains on all folds but one, for each, and evaluates every row by the model that has not seen it;
 * the options' own `rows` and `validation` are not used. Throws what `trainLinear` throws.
 */
export async function crossValidateLinear(
  table: SparseTable,
  folds: number,
  options: LinearOptions = {},
): Promise<ClassificationSummary> {
  const { rows: _rows, validation: _validation, ...settings } = options
  const quality = new ClassificationAccumulator(options.loss === 'logistic')
  for (const { train, test } of foldRows(table.rows, folds, options.seed)) {
    const model = await trainLinear(table, { ...settings, rows: train })
    addRows(quality, model, table, test)
  }
  return quality.summary()
}
