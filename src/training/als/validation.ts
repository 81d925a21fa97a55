import type { RatingsTable } from '../data/ratings-table.ts'
import { evaluateAls } from './evaluate.ts'
import { evaluateRanking } from './evaluate-ranking.ts'
import type { AlsModel } from './solver/model.ts'
import type { AlsProgress, AlsSettings } from './solver/options.ts'

/** Validation error in the progress of training. */
export type ValidationError = Pick<AlsProgress, 'validationRmse' | 'validationNdcg'>

/** Measures the error on validation ratings. */
export interface AlsValidator {
  /** Error of the current rows; undefined without validation ratings. */
  measure(history: readonly AlsProgress[]): ValidationError | undefined
  /** Whether none of the last `patience` measurements was the best one. */
  shouldStop(): boolean
  /** The model of the best measurement; undefined if the last model is to be used. */
  best(): AlsModel | undefined
}

const NO_VALIDATION: AlsValidator = {
  measure: () => undefined,
  shouldStop: () => false,
  best: () => undefined,
}

/** Number of users whose ranking is measured after each iteration: three digits in a short time. */
const RANKED_USERS = 1000

/** Options of `alsValidator`. */
export interface AlsValidatorOptions {
  /** The training ratings; needed for implicit feedback. */
  readonly training?: RatingsTable
  readonly settings: AlsSettings
  /** The model with the current rows. */
  readonly modelOf: (history: readonly AlsProgress[]) => AlsModel
}

/**
 * A validator on `ratings` that measures the RMSE, or with implicit feedback the NDCG at 10. With
 * finite patience it keeps the best model.
 */
export function alsValidator(
  ratings: RatingsTable | undefined,
  { training, settings, modelOf }: AlsValidatorOptions,
): AlsValidator {
  if (ratings === undefined || ratings.size === 0) return NO_VALIDATION
  const { patience, feedback } = settings
  let lowest = Number.POSITIVE_INFINITY
  let bestModel: AlsModel | undefined
  let sinceBest = 0
  const errorOf = (model: AlsModel): ValidationError => {
    if (feedback === 'explicit') return { validationRmse: evaluateAls(model, ratings).rmse }
    if (training === undefined) return {}
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
