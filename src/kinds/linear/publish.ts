import { BIAS_FEATURE } from '../../core/feature.ts'
import { count, kindOf, numberIn, objectWith, optional } from '../../core/options/kinds.ts'
import { checkArgument, checkOptions, type OptionShape } from '../../core/options/shape.ts'
import type { LinearPrior } from '../../models/linear/prior.ts'
import { LINEAR_MEMORY } from '../../models/linear/weight-memory.ts'
import { DEFAULT_RANGE } from '../../models/linear/weight-row.ts'
import {
  PUBLICATION,
  type PublishableRow,
  type PublishOptions,
  publishModel,
  TRAINING_FACTS,
} from '../../models/publish/model.ts'
import type { TrainedOn } from '../../models/registry/ranges/trained-on.ts'
import { SVM_MODEL } from '../../models/topic/linear-serving-function.ts'
import type { MulticlassModel } from '../../training/linear/multiclass.ts'

/** A linear model that can be published. */
export interface PublishableLinearModel {
  /** Number of features; ids are smaller. */
  readonly features: number
  /** Writes the weights of features from `first` on into `weights`, and zeros after the last feature. */
  fill(first: number, weights: Float32Array): void
  /** Weight of the constant feature, which has the value 1. */
  readonly intercept: number
  /** What the training examples say of each weight, for a learner that goes on from it; the intercept's last. */
  readonly prior?: LinearPrior | undefined
}

/** Options of `publishLinear`. */
export interface PublishLinearOptions extends Omit<PublishOptions, 'facts'> {
  /** Features of a block of weights. @default 1024 */
  readonly range?: number
  readonly hyperparameters?: Readonly<Record<string, number | string | boolean>>
  readonly metrics?: Readonly<Record<string, number>>
  readonly trainedOn?: TrainedOn
}

const PUBLISH_LINEAR: OptionShape<PublishLinearOptions> = {
  ...PUBLICATION,
  ...TRAINING_FACTS,
  range: count,
}

/** Publishes a linear model as a version, in blocks of weights (`publishModel`). */
export async function publishLinear(
  model: PublishableLinearModel,
  options: PublishLinearOptions,
): Promise<number> {
  checkOptions('publishLinear', PUBLISH_LINEAR, options)
  const {
    range = DEFAULT_RANGE,
    hyperparameters,
    metrics = {},
    trainedOn,
    ...publication
  } = options
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
    hyperparameters: { features: model.features, ...hyperparameters },
    metrics,
    ...(trainedOn === undefined ? {} : { trainedOn }),
  }
  return await publishModel(publishable, { ...publication, facts })
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
  const memory = new BlockMemory(range, model)
  for (let block = 0; block < blocks; block++) {
    model.fill(block * range, vector)
    yield { id: String(block), kind: 'W', vector, memory: memory.of(block * range) }
  }
  const block = Math.floor(BIAS_FEATURE / range)
  const at = BIAS_FEATURE - block * range
  vector.fill(0)
  vector[at] = model.intercept
  yield { id: String(block), kind: 'W', vector, memory: memory.ofIntercept(at) }
}

/** What learning keeps beside a block of trained weights, in one array that each block fills again. */
class BlockMemory {
  private readonly range: number
  private readonly features: number
  private readonly prior: LinearPrior | undefined
  private readonly memory: Float32Array

  constructor(range: number, { features, prior }: PublishableLinearModel) {
    this.range = range
    this.features = features
    this.prior = prior
    this.memory = new Float32Array(prior === undefined ? 0 : LINEAR_MEMORY * range)
  }

  /** The memory of the features from `first` on; undefined without a prior. */
  of(first: number): Float32Array | undefined {
    if (this.prior === undefined) return undefined
    const last = Math.min(this.range, this.features - first)
    this.memory.fill(0)
    for (let i = 0; i < last; i++) this.set(i, first + i)
    return this.memory
  }

  /** The memory of the block with the constant feature at an index. */
  ofIntercept(at: number): Float32Array | undefined {
    if (this.prior === undefined) return undefined
    this.memory.fill(0)
    this.set(at, this.features)
    return this.memory
  }

  private set(at: number, weight: number): void {
    const { squares, scales } = this.prior!
    this.memory[at] = squares[weight] ?? 0
    this.memory[this.range + at] = -(scales[weight] ?? 0)
  }
}

/** A model of weights in order of feature id, with what its training examples say of them (`linearPrior`). */
export function publishableWeights(
  weights: ArrayLike<number>,
  intercept: number,
  prior?: LinearPrior,
): PublishableLinearModel {
  checkArgument('publishableWeights', 'weights', WEIGHTS, weights)
  checkArgument('publishableWeights', 'intercept', numberIn(), intercept)
  checkArgument(
    'publishableWeights',
    'prior',
    optional(objectWith<LinearPrior>('a prior, as linearPrior(...) gives it')),
    prior,
  )
  return {
    features: weights.length,
    intercept,
    prior,
    fill(first, target) {
      for (let i = 0; i < target.length; i++) target[i] = weights[first + i] ?? 0
    },
  }
}

/** A model of several classes as one of the weights of all (`LinearClasses`). */
export function publishableClasses(model: MulticlassModel): PublishableLinearModel {
  const { labels, features, stride } = model.classes
  const weightOf = (id: number): number => {
    const place = Math.floor(id / stride)
    const one = model.models[place]
    const feature = id - place * stride
    return (feature < features ? one?.weights[feature] : one?.intercept) ?? 0
  }
  return {
    features: labels.length * stride,
    intercept: 0,
    fill(first, target) {
      for (let i = 0; i < target.length; i++) target[i] = weightOf(first + i)
    },
  }
}

const WEIGHTS = kindOf<ArrayLike<number>>(
  'an array of weights',
  (given) => Array.isArray(given) || ArrayBuffer.isView(given),
)
