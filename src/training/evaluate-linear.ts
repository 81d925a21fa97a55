import { requireArgument } from '../core/errors.ts'
import { seededRandom } from '../core/random.ts'
import { ClassificationAccumulator, type ClassificationSummary } from './classification-metrics.ts'
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

/** Rows in two parts. */
export interface RowSplit {
  readonly train: Uint32Array
  readonly test: Uint32Array
}

/** `folds` splits of the rows: each row is in exactly one test part; sizes differ by at most one. */
export function foldRows(rows: number, folds: number, seed = 1): readonly RowSplit[] {
  requireArgument(
    Number.isSafeInteger(folds) && folds >= 2 && folds <= rows,
    `the number of folds is a whole number from 2 to the number of rows, not ${folds}`,
  )
  const random = seededRandom(seed)
  const order = Uint32Array.from({ length: rows }, (_, row) => row)
  for (let i = rows - 1; i > 0; i--) {
    const j = random.below(i + 1)
    const row = order[i] as number
    order[i] = order[j] as number
    order[j] = row
  }
  return Array.from({ length: folds }, (_, fold) => ({
    test: order.filter((_, at) => at % folds === fold).sort(),
    train: order.filter((_, at) => at % folds !== fold).sort(),
  }))
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
