import { WeirError } from '../../core/errors.ts'
import { FEATURE_HASHING, type FeatureHashing } from '../../core/features/hashing.ts'
import { count, flag, name, required } from '../../core/options/kinds.ts'
import { checkArgument, checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import { LibsvmParser, type LibsvmSink } from '../../models/linear/libsvm-format.ts'
import {
  LINEAR_PREDICT,
  type LinearPrediction,
  type LinearPredictOptions,
} from '../../wire/linear-prediction.ts'
import type { SparseVector } from '../../wire/model-reader.ts'
import { ClassificationAccumulator, type ClassificationSummary } from '../metrics/classification.ts'
import { MulticlassAccumulator, type MulticlassSummary } from '../metrics/multiclass.ts'

/** Predicts one example with a served linear model. */
export type PredictLinear = (
  state: string,
  features: SparseVector,
  options: LinearPredictOptions,
) => Promise<LinearPrediction>

/** An example of a file and its prediction. */
export interface PredictedExample {
  /** Number of the example, from 1. */
  readonly number: number
  /** Label in the file. */
  readonly label: number
  readonly features: number
  readonly prediction: LinearPrediction
}

/** Options of `predictExamples`. */
export interface PredictExamplesOptions {
  readonly state: string
  readonly query: LinearPredictOptions
  /** Predictions in flight at the same time. @default 1024 */
  readonly outstanding?: number
  /** How the model hashes the names of features. @default features have ids */
  readonly hashing?: FeatureHashing | undefined
}

const PREDICT_EXAMPLES: OptionShape<PredictExamplesOptions> = {
  state: required(name),
  query: required(nested(LINEAR_PREDICT)),
  outstanding: count,
  hashing: nested(FEATURE_HASHING),
}

/** An example with its own arrays. */
interface Example extends SparseVector {
  readonly label: number
}

/**
 * Predicts the examples of a LIBSVM text with a served model, in order, without holding the whole
 * text. Rejects with the first failed query, and with UNPARSABLE_RECORD, which names the line.
 */
export async function* predictExamples(
  predict: PredictLinear,
  text: AsyncIterable<Uint8Array>,
  options: PredictExamplesOptions,
): AsyncGenerator<PredictedExample> {
  checkOptions('predictExamples', PREDICT_EXAMPLES, options)
  const { state, query, outstanding = 1024, hashing } = options
  let number = 0
  for await (const examples of exampleBatches(text, outstanding, hashing)) {
    const predictions = await Promise.all(examples.map((example) => predict(state, example, query)))
    for (const [i, prediction] of predictions.entries()) {
      const { label, ids } = examples[i]!
      yield { number: ++number, label, features: ids.length, prediction }
    }
  }
}

async function* exampleBatches(
  text: AsyncIterable<Uint8Array>,
  size: number,
  hashing: FeatureHashing | undefined,
): AsyncGenerator<readonly Example[]> {
  let examples: Example[] = []
  const add: LibsvmSink = (label, indexes, values, count) => {
    examples.push({ label, ids: indexes.slice(0, count), values: values.slice(0, count) })
  }
  const parser = new LibsvmParser(add, { hashing })
  const full = function* (): Generator<readonly Example[]> {
    for (let from = 0; from < examples.length; from += size) {
      yield examples.slice(from, from + size)
    }
    examples = []
  }
  for await (const piece of text) {
    parser.push(piece)
    if (examples.length >= size) yield* full()
  }
  parser.end()
  yield* full()
}

/** The share of features that a served model knows. */
export interface FeatureCoverage {
  /** Features of all examples, and those of them without a weight. */
  readonly features: number
  readonly unknownFeatures: number
  /** Examples without any feature that has a weight. */
  readonly unknownExamples: number
}

/** Quality of a served classifier of two labels. */
export interface ServedClassifierSummary extends ClassificationSummary, FeatureCoverage {}

/** Quality of a served classifier of several classes. */
export interface ServedClassesSummary extends MulticlassSummary, FeatureCoverage {}

/** Counts the features that a model knows. */
class Coverage {
  private features = 0
  private unknownFeatures = 0
  private unknownExamples = 0

  add({ features, prediction }: PredictedExample): void {
    this.features += features
    this.unknownFeatures += prediction.unknown
    if (features > 0 && prediction.unknown === features) this.unknownExamples++
  }

  get found(): FeatureCoverage {
    const { features, unknownFeatures, unknownExamples } = this
    return { features, unknownFeatures, unknownExamples }
  }
}

/**
 * Quality of the predictions of a served classifier. No example is dropped: one whose features are all
 * unknown is predicted by the intercept and counted.
 */
export class ServedClassifierQuality {
  private readonly quality: ClassificationAccumulator
  private readonly positiveLabel: number
  private readonly threshold: number
  private readonly coverage = new Coverage()

  /** `isLogOdds`: decision values are log-odds, so the summary has a log loss. */
  constructor(isLogOdds: boolean, options: LinearPredictOptions = {}) {
    checkArgument('new ServedClassifierQuality', 'isLogOdds', flag, isLogOdds)
    checkOptions('new ServedClassifierQuality', LINEAR_PREDICT, options)
    const { positiveLabel = 1, threshold = 0 } = options
    this.quality = new ClassificationAccumulator(isLogOdds)
    this.positiveLabel = positiveLabel
    this.threshold = threshold
  }

  /** Adds an example. `positiveLabel`: of the version that predicted it. */
  add(example: PredictedExample, positiveLabel: number = this.positiveLabel): void {
    const { label, prediction } = example
    this.quality.add(label === positiveLabel, prediction.decision - this.threshold)
    this.coverage.add(example)
  }

  /** Quality so far. Throws EMPTY_DATASET before the first example. */
  summary(): ServedClassifierSummary {
    return { ...this.quality.summary(), ...this.coverage.found }
  }
}

/** As `ServedClassifierQuality`, of a model of several classes. */
export class ServedClassesQuality {
  private readonly labels: readonly number[]
  private readonly quality: MulticlassAccumulator
  private readonly coverage = new Coverage()

  /** `labels`: of the classes. `isLogOdds`: as in `ServedClassifierQuality`. */
  constructor(labels: readonly number[], isLogOdds: boolean) {
    this.labels = labels
    this.quality = new MulticlassAccumulator(labels, isLogOdds)
  }

  /** Adds an example. Throws ILLEGAL_STATE if a version of other classes answered. */
  add(example: PredictedExample): void {
    const { scores = [], modelVersion } = example.prediction
    if (scores.map(({ label }) => label).join() !== this.labels.join()) {
      throw new WeirError(
        'ILLEGAL_STATE',
        `version ${modelVersion} has other classes than the version before: name one with --version`,
      )
    }
    const values = scores.map(({ score }) => score)
    this.quality.add(example.label, values)
    this.coverage.add(example)
  }

  /** Quality so far. Throws EMPTY_DATASET before the first example. */
  summary(): ServedClassesSummary {
    return { ...this.quality.summary(), ...this.coverage.found }
  }
}
