import { WeirError } from '../core/errors.ts'
import { numberIn } from '../core/options/kinds.ts'
import type { OptionShape } from '../core/options/shape.ts'
import { QUERY, type QueryOptions } from './model-reader.ts'

/** Prediction of a linear model for an example. */
export interface LinearPrediction {
  /** Sum of weight x value over the features, plus the intercept. */
  readonly decision: number
  /** The positive label above the threshold, the negative one otherwise. */
  readonly label: number
  /** Features that the model has no weight for; they add nothing. */
  readonly unknown: number
  /** Version that answered. */
  readonly modelVersion: number
}

/** Options of a linear prediction. */
export interface LinearPredictOptions extends QueryOptions {
  /** Decision values above it get the positive label. @default 0 */
  readonly threshold?: number
  /** @default 1 */
  readonly positiveLabel?: number
  /** @default -1 */
  readonly negativeLabel?: number
}

/** The options of a linear prediction. */
export const LINEAR_PREDICT: OptionShape<LinearPredictOptions> = {
  ...QUERY,
  threshold: numberIn(),
  positiveLabel: numberIn(),
  negativeLabel: numberIn(),
}

/** The prediction of a decision value. Throws NOT_FINITE when the example held NaN or Infinity. */
export function linearPrediction(
  decision: number,
  unknown: number,
  modelVersion: number,
  options: LinearPredictOptions,
): LinearPrediction {
  const { threshold = 0, positiveLabel = 1, negativeLabel = -1 } = options
  if (!Number.isFinite(threshold)) {
    throw new WeirError('INVALID_ARGUMENT', `the threshold is a number, not ${threshold}`)
  }
  if (!Number.isFinite(decision)) {
    throw new WeirError(
      'NOT_FINITE',
      `the decision value is ${decision}; check the values of the example`,
    )
  }
  const label = decision > threshold ? positiveLabel : negativeLabel
  return { decision, label, unknown, modelVersion }
}
