import { kindOf, optional } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { foldRows } from '../data/fold-rows.ts'
import { LINEAR_MODEL, SPARSE_TABLE } from '../data/kinds.ts'
import type { SparseTable } from '../data/sparse-table.ts'
import { ClassificationAccumulator, type ClassificationSummary } from '../metrics/classification.ts'
import type { LinearModel } from './model.ts'
import type { LinearOptions } from './options.ts'
import { linearSettings } from './options.ts'
import { trainLinear } from './train.ts'

/** Quality of a classifier on rows of a table, by default on all. Throws EMPTY_DATASET. */
export function evaluateLinear(
  model: LinearModel,
  table: SparseTable,
  rows?: Uint32Array,
): ClassificationSummary {
  checkArgument('evaluateLinear', 'model', LINEAR_MODEL, model)
  checkArgument('evaluateLinear', 'table', SPARSE_TABLE, table)
  checkArgument('evaluateLinear', 'rows', optional(ROWS), rows)
  const quality = new ClassificationAccumulator(model.loss === 'logistic')
  for (const row of rows ?? Uint32Array.from({ length: table.rows }, (_, n) => n)) {
    addRow(quality, model, { table, row })
  }
  return quality.summary()
}

function addRow(
  quality: ClassificationAccumulator,
  model: LinearModel,
  { table, row }: { readonly table: SparseTable; readonly row: number },
): void {
  const isPositive = table.labels[row] === model.labels.positive
  quality.add(isPositive, model.decisionOfRow(table, row))
}

/**
 * Trains once for each fold, on the other folds, and evaluates every row with the model that was not
 * trained on it. Ignores the options `rows` and `validation`. Throws the errors of `trainLinear`.
 */
export async function crossValidateLinear(
  table: SparseTable,
  folds: number,
  options: LinearOptions = {},
): Promise<ClassificationSummary> {
  linearSettings(options)
  checkArgument('crossValidateLinear', 'table', SPARSE_TABLE, table)
  const { rows: _rows, validation: _validation, ...settings } = options
  const quality = new ClassificationAccumulator(options.loss === 'logistic')
  for (const { train, test } of foldRows(table.rows, folds, options.seed)) {
    const model = await trainLinear(table, { ...settings, rows: train })
    for (const row of test) addRow(quality, model, { table, row })
  }
  return quality.summary()
}

const ROWS = kindOf<Uint32Array>('a Uint32Array of rows', (given) => given instanceof Uint32Array)
