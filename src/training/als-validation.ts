import type { AlsModel } from './als-model.ts'
import type { AlsProgress, AlsSettings } from './als-options.ts'
import { evaluateAls } from './evaluate-als.ts'
import { evaluateRanking } from './evaluate-ranking.ts'
import type { RatingsTable } from './ratings-table.ts'

/** An error on ratings kept apart, as progress tells it. */
export type ValidationError = Pick<AlsProgress, 'validationRmse' | 'validationNdcg'>

/** Watches the error on ratings kept apart from training. */
export interface AlsValidator {
  /** Error of the rows as they are now; undefined where there is nothing to validate on. */
  measure(history: readonly AlsProgress[]): ValidationError | undefined
  /** Whether the last `patience` measurements brought no better one. */
  shouldStop(): boolean
  /** The model of the best measurement; undefined where the last one is to be taken. */
  best(): AlsModel | undefined
}

const NO_VALIDATION: AlsValidator = {
  measure: () => undefined,
  shouldStop: () => false,
  best: () => undefined,
}

/** Users whose ranking is measured after each iteration: enough for three digits, not for hours. */
const RANKED_USERS = 1000

/**
 * A validator on `ratings`: RMSE, or with implicit feedback NDCG at 10. With finite patience it
 * remembers the best model.
 */
export function alsValidator(
  training: RatingsTable,
  ratings: RatingsTable | undefined,
  settings: AlsSettings,
  modelOf: (history: readonly AlsProgress[]) => AlsModel,
): AlsValidator {
  if (ratings === undefined || ratings.size === 0) return NO_VALIDATION
  const { patience, feedback } = settings
  let lowest = Number.POSITIVE_INFINITY
  let bestModel: AlsModel | undefined
  let sinceBest = 0
  const errorOf = (model: AlsModel): ValidationError => {
    if (feedback === 'explicit') return { validationRmse: evaluateAls(model, ratings).rmse }
    const { ndcg } = evaluateRanking(model, training, ratings, { maxUsers: RANKED_USERS })
    return { validationNdcg: ndcg.mean }
  }
  return {
    measure(history) {
      const model = modelOf(history)
      const error = errorOf(model)
      const value = error.validationRmse ?? 1 - (error.validationNdcg ?? 0)
      sinceBest = value < lowest ? 0 : sinceBest + 1
      if (sinceBest === 0) {
        lowest = value
        bestModel = model
      }
      return error
    },
    shouldStop: () => sinceBest >= patience,
    best: () => (patience === Number.POSITIVE_INFINITY ? undefined : bestModel),
  }
}
