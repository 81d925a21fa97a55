import { WeirError } from '../core/errors.ts'
import { numberIn } from '../core/options/kinds.ts'
import type { OptionShape } from '../core/options/shape.ts'
import { QUERY, type QueryOptions } from './model-reader.ts'
import type { VersionLabels } from './routing-table.ts'

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
  /** @default that of the version, or 1 if it does not say its own */
  readonly positiveLabel?: number
  /** @default that of the version, or -1 if it does not say its own */
  readonly negativeLabel?: number
}

/** The options of a linear prediction. */
export const LINEAR_PREDICT: OptionShape<LinearPredictOptions> = {
  ...QUERY,
  threshold: numberIn(),
  positiveLabel: numberIn(),
  negativeLabel: numberIn(),
}

/** What a job answers to an example, and what is known of the version that answered. */
export interface LinearAnswer {
  readonly decision: number
  readonly unknown: number
  readonly modelVersion: number
  /** Undefined where the job does not say them. */
  readonly labels: VersionLabels | undefined
}

/** The prediction of an answer. Throws NOT_FINITE when the example held NaN or Infinity. */
export function linearPrediction(
  { decision, unknown, modelVersion, labels }: LinearAnswer,
  options: LinearPredictOptions,
): LinearPrediction {
  const { threshold = 0 } = options
  const { positiveLabel = labels?.positive ?? 1, negativeLabel = labels?.negative ?? -1 } = options
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
