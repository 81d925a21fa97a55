import { BIAS_FEATURE } from '../core/feature.ts'
import { DEFAULT_RANGE } from '../models/weight-row.ts'
import { type PublishableRow, type PublishOptions, publishModel } from './publish-model.ts'
import { SVM_MODEL } from './svm-serving-function.ts'

/** A linear model to publish. */
export interface PublishableLinearModel {
  /** Feature ids are below it. */
  readonly features: number
  /** Writes the weights of features from `first` on into `weights`, zeros beyond the last. */
  fill(first: number, weights: Float32Array): void
  /** Weight of the constant feature, whose value is 1. */
  readonly intercept: number
}

/** Options of `publishLinear`. */
export interface PublishLinearOptions extends Omit<PublishOptions, 'facts'> {
  /** Features of one block. @default 1024 */
  readonly range?: number
  readonly hyperparameters?: Readonly<Record<string, number | string | boolean>>
  readonly metrics?: Readonly<Record<string, number>>
}

/** Publishes a linear model as a version, in blocks of weights; see `publishModel`. */
export function publishLinear(
  model: PublishableLinearModel,
  options: PublishLinearOptions,
): Promise<void> {
  const range = options.range ?? DEFAULT_RANGE
  const blocks = Math.ceil(model.features / range)
  const publishable = {
    dimension: range,
    users: 0,
    items: blocks + 1,
    rows: () => rowsOf(model, range, blocks),
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

/** Blocks of nothing but zeros are published too: they may have had weights in an earlier version. */
function* rowsOf(
  model: PublishableLinearModel,
  range: number,
  blocks: number,
): Generator<PublishableRow> {
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

/** A trained model's weights, one for each feature id below their number. */
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
