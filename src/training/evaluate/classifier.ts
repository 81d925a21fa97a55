import { count, flag, name, required } from '../../core/options/kinds.ts'
import { checkArgument, checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import { LibsvmParser } from '../../models/linear/libsvm-format.ts'
import {
  LINEAR_PREDICT,
  type LinearPrediction,
  type LinearPredictOptions,
} from '../../wire/linear-prediction.ts'
import type { SparseVector } from '../../wire/model-reader.ts'
import { ClassificationAccumulator, type ClassificationSummary } from '../metrics/classification.ts'

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
}

const PREDICT_EXAMPLES: OptionShape<PredictExamplesOptions> = {
  state: required(name),
  query: required(nested(LINEAR_PREDICT)),
  outstanding: count,
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
  const { state, query, outstanding = 1024 } = options
  let number = 0
  for await (const examples of exampleBatches(text, outstanding)) {
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
): AsyncGenerator<readonly Example[]> {
  let examples: Example[] = []
  const parser = new LibsvmParser((label, indexes, values, count) => {
    examples.push({ label, ids: indexes.slice(0, count), values: values.slice(0, count) })
  })
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

/** Quality of a served classifier, and the share of features that it knows. */
export interface ServedClassifierSummary extends ClassificationSummary {
  /** Features of all examples, and those of them without a weight. */
  readonly features: number
  readonly unknownFeatures: number
  /** Examples without any feature that has a weight. */
  readonly unknownExamples: number
}

/**
 * Quality of the predictions of a served classifier. No example is dropped: one whose features are all
 * unknown is predicted by the intercept and counted.
 */
export class ServedClassifierQuality {
  private readonly quality: ClassificationAccumulator
  private readonly positiveLabel: number
  private readonly threshold: number
  private features = 0
  private unknownFeatures = 0
  private unknownExamples = 0

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
  add(
    { label, features, prediction }: PredictedExample,
    positiveLabel: number = this.positiveLabel,
  ): void {
    this.quality.add(label === positiveLabel, prediction.decision - this.threshold)
    this.features += features
    this.unknownFeatures += prediction.unknown
    if (features > 0 && prediction.unknown === features) this.unknownExamples++
  }

  /** Quality so far. Throws EMPTY_DATASET before the first example. */
  summary(): ServedClassifierSummary {
    const { features, unknownFeatures, unknownExamples } = this
    return { ...this.quality.summary(), features, unknownFeatures, unknownExamples }
  }
}
