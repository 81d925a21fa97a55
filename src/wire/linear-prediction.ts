import { WeirError } from '../core/errors.ts'
import { numberIn } from '../core/options/kinds.ts'
import type { OptionShape } from '../core/options/shape.ts'
import { QUERY, type QueryOptions } from './model-reader.ts'
import type { RoutingTable, VersionLabels } from './routing-table.ts'

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

/** An answer to an example. */
interface LinearAnswer {
  readonly state: string
  /** The decision value. */
  readonly sum: number
  readonly unknown: number
  readonly modelVersion: number
}

/** The last routing table of a client. */
interface Routing {
  readonly routing: RoutingTable | undefined
  /** Whether the last answer had another epoch than the table. */
  readonly isStale: boolean
  refresh(): Promise<void>
}

/**
 * The prediction of an answer, with the labels of the version that answered, as far as the job says them. At once, unless the
 * routing table is older than the answer: then it is fetched. Throws NOT_FINITE when the example held NaN or Infinity.
 */
export function linearPrediction(
  routing: Routing,
  answer: LinearAnswer,
  options: LinearPredictOptions,
): LinearPrediction | Promise<LinearPrediction> {
  const { threshold = 0, positiveLabel, negativeLabel } = options
  const { sum } = answer
  if (!Number.isFinite(threshold)) {
    throw new WeirError('INVALID_ARGUMENT', `the threshold is a number, not ${threshold}`)
  }
  if (!Number.isFinite(sum)) {
    throw new WeirError(
      'NOT_FINITE',
      `the decision value is ${sum}; check the values of the example`,
    )
  }
  const labels = labelsIn(routing.routing, answer)
  const areGiven = positiveLabel !== undefined && negativeLabel !== undefined
  if (labels !== undefined || areGiven || !routing.isStale) return labelled(answer, labels, options)
  return routing.refresh().then(() => labelled(answer, labelsIn(routing.routing, answer), options))
}

function labelled(
  { sum: decision, unknown, modelVersion }: LinearAnswer,
  labels: VersionLabels | undefined,
  options: LinearPredictOptions,
): LinearPrediction {
  const { threshold = 0 } = options
  const { positiveLabel = labels?.positive ?? 1, negativeLabel = labels?.negative ?? -1 } = options
  const label = decision > threshold ? positiveLabel : negativeLabel
  return { decision, label, unknown, modelVersion }
}

function labelsIn(
  table: RoutingTable | undefined,
  { state, modelVersion }: LinearAnswer,
): VersionLabels | undefined {
  const info = table?.states.find(({ name }) => name === state)
  return info?.labels?.find(({ version }) => version === modelVersion)
}
