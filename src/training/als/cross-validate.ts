import { checkArgument } from '../../core/options/shape.ts'
import { RATINGS_TABLE } from '../data/kinds.ts'
import type { RatingsTable } from '../data/ratings-table.ts'
import { splitFolds } from '../data/split-ratings.ts'
import type { ErrorSummary } from '../metrics/errors.ts'
import { evaluateAls } from './evaluate.ts'
import type { AlsModel } from './solver/model.ts'
import type { AlsOptions } from './solver/options.ts'
import { alsSettings } from './solver/options.ts'
import { trainAls } from './train.ts'

/** Errors on each fold of a model that was trained on the other folds. */
export interface CrossValidation {
  readonly folds: readonly ErrorSummary[]
  /** Mean of the folds' RMSE. */
  readonly rmse: number
}

/**
 * Trains once for each of `folds` folds, on the other folds, and tests on that fold; cold pairs count.
 * Ignores the option `validation`. Throws the errors of `trainAls`.
 */
export async function crossValidateAls(
  table: RatingsTable,
  folds: number,
  options: AlsOptions = {},
): Promise<CrossValidation> {
  alsSettings(options)
  checkArgument('crossValidateAls', 'table', RATINGS_TABLE, table)
  const { validation: _validation, ...settings } = options
  const train = (other: RatingsTable): Promise<AlsModel> => trainAls(other, settings)
  return await crossValidate(table, { folds, seed: options.seed, train })
}

/** Cross-validates any training of a factor model; `seed` chooses the folds. */
export async function crossValidate(
  table: RatingsTable,
  {
    folds,
    seed,
    train,
  }: {
    readonly folds: number
    readonly seed?: number | undefined
    readonly train: (table: RatingsTable) => Promise<AlsModel>
  },
): Promise<CrossValidation> {
  const errors: ErrorSummary[] = []
  for (const fold of splitFolds(table, folds, seed)) {
    errors.push(evaluateAls(await train(fold.train), fold.test))
  }
  const sum = errors.reduce((total, { rmse }) => total + rmse, 0)
  return { folds: errors, rmse: sum / errors.length }
}
