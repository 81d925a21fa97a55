import type { AlsOptions } from './als-options.ts'
import { evaluateAls } from './evaluate-als.ts'
import type { ErrorSummary } from './metrics.ts'
import type { RatingsTable } from './ratings-table.ts'
import { splitFolds } from './split-ratings.ts'
import { trainAls } from './train-als.ts'

/** Errors of a model on each fold, trained on the others. */
export interface CrossValidation {
  readonly folds: readonly ErrorSummary[]
  /** Mean of the folds' RMSE. */
  readonly rmse: number
}

/**
 * Trains on all folds but one, for each of `folds`, and tests on that one; cold pairs count. The
 * options' own validation is not used. Throws what `trainAls` throws.
 */
export async function crossValidateAls(
  table: RatingsTable,
  folds: number,
  options: AlsOptions = {},
): Promise<CrossValidation> {
  const { validation: _validation, ...settings } = options
  const errors: ErrorSummary[] = []
  for (const { train, test } of splitFolds(table, folds, options.seed)) {
    errors.push(evaluateAls(await trainAls(train, settings), test))
  }
  const sum = errors.reduce((total, { rmse }) => total + rmse, 0)
  return { folds: errors, rmse: sum / errors.length }
}
