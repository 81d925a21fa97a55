import type { AlsModel } from './als-model.ts'
import type { AlsProgress } from './als-options.ts'
import { evaluateAls } from './evaluate-als.ts'
import type { RatingsTable } from './ratings-table.ts'

/** Watches the error on ratings kept apart from training. */
export interface Validator {
  /** RMSE of the rows as they are now; undefined where there is nothing to validate on. */
  measure(history: readonly AlsProgress[]): number | undefined
  /** Whether the last `patience` measurements brought no better one. */
  shouldStop(): boolean
  /** The model of the best measurement; undefined where the last one is to be taken. */
  best(): AlsModel | undefined
}

const NO_VALIDATION: Validator = {
  measure: () => undefined,
  shouldStop: () => false,
  best: () => undefined,
}

/** A validator on `ratings`; with finite patience it remembers the best model. */
export function validator(
  ratings: RatingsTable | undefined,
  patience: number,
  modelOf: (history: readonly AlsProgress[]) => AlsModel,
): Validator {
  if (ratings === undefined || ratings.size === 0) return NO_VALIDATION
  let bestRmse = Number.POSITIVE_INFINITY
  let bestModel: AlsModel | undefined
  let sinceBest = 0
  return {
    measure(history) {
      const model = modelOf(history)
      const { rmse } = evaluateAls(model, ratings)
      sinceBest = rmse < bestRmse ? 0 : sinceBest + 1
      if (sinceBest === 0) {
        bestRmse = rmse
        bestModel = model
      }
      return rmse
    },
    shouldStop: () => sinceBest >= patience,
    best: () => (patience === Number.POSITIVE_INFINITY ? undefined : bestModel),
  }
}
