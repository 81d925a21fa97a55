import { BIAS_FEATURE } from '../../core/feature.ts'
import { DEFAULT_RANGE } from '../../models/linear/weight-row.ts'
import { SVM_MODEL } from '../model-topic/linear-serving-function.ts'
import { type PublishableRow, type PublishOptions, publishModel } from './model.ts'

/** A linear model that can be published. */
export interface PublishableLinearModel {
  /** Number of features; ids are smaller. */
  readonly features: number
  /** Writes the weights of features from `first` on into `weights`, and zeros after the last feature. */
  fill(first: number, weights: Float32Array): void
  /** Weight of the constant feature, which has the value 1. */
  readonly intercept: number
}

/** Options of `publishLinear`. */
export interface PublishLinearOptions extends Omit<PublishOptions, 'facts'> {
  /** Features of a block of weights. @default 1024 */
  readonly range?: number
  readonly hyperparameters?: Readonly<Record<string, number | string | boolean>>
  readonly metrics?: Readonly<Record<string, number>>
}

/** Publishes a linear model as a version, in blocks of weights (`publishModel`). */
export function publishLinear(
  model: PublishableLinearModel,
  options: PublishLinearOptions,
): Promise<number> {
  const range = options.range ?? DEFAULT_RANGE
  const blocks = Math.ceil(model.features / range)
  const publishable = {
    dimension: range,
    users: 0,
    items: blocks + 1,
    rows: () => weightBlockRows(model, range),
  }
  const facts = {
    name: SVM_MODEL,
    biased: model.intercept !== 0,
    globalMean: 0,
    hyperparameters: { features: model.features, ...options.hyperparameters },
    metrics: options.metrics ?? {},
  }
  return publishModel(publishable, { ...options, facts })
}

/**
 * All blocks of `range` weights and that of the intercept, in one vector that each row fills again. Blocks
 * with zeros only are among them, because an earlier version may have had weights there.
 */
export function* weightBlockRows(
  model: PublishableLinearModel,
  range: number,
): Generator<PublishableRow> {
  const blocks = Math.ceil(model.features / range)
  const vector = new Float32Array(range)
  for (let block = 0; block < blocks; block++) {
    model.fill(block * range, vector)
    yield { id: String(block), kind: 'W', vector }
  }
  const block = Math.floor(BIAS_FEATURE / range)
  vector.fill(0)
  vector[BIAS_FEATURE - block * range] = model.intercept
  yield { id: String(block), kind: 'W', vector }
}

/** A model of weights in order of feature id. */
export function publishableWeights(
  weights: ArrayLike<number>,
  intercept: number,
): PublishableLinearModel {
  return {
    features: weights.length,
    intercept,
    fill(first, target) {
      for (let i = 0; i < target.length; i++) target[i] = weights[first + i] ?? 0
    },
  }
}
