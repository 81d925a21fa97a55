import type { FeatureHashing } from '../../core/features/hashing.ts'
import { type Feedback, targetOf } from '../../models/feedback.ts'
import type { ObservedExample } from '../../models/observations/examples.ts'
import type { Rating, RatingRange } from '../../models/ratings/rating.ts'
import { predictServed } from '../../training/evaluate/served.ts'
import type { ModelReader } from '../../wire/model-reader.ts'
import { withBiasFeature } from '../../wire/sparse-vector.ts'

/** How the predictions of a served version are compared with observations. */
export interface ServedErrorOptions {
  readonly reader: ModelReader
  readonly state: string
  /** Range to clip predictions of ratings to. @default no clipping */
  readonly range?: RatingRange
  /** What the ratings mean; the error of implicit feedback is that of the preference. @default 'explicit' */
  readonly feedback?: Feedback
  /** For a linear model: its positive label. Its error is 1 for a wrong label, else 0. @default an ALS model */
  readonly positiveLabel?: number
  /** How a linear model hashes the names of features. @default features have ids */
  readonly hashing?: FeatureHashing | undefined
}

/** Error of one prediction. */
export interface PredictionError {
  readonly error: number
  readonly isKnown: boolean
}

/** The errors of a served version on ratings. Rejects with the first failed query. */
export async function* ratingErrors(
  { reader, state, range, feedback = 'explicit' }: ServedErrorOptions,
  ratings: AsyncIterable<readonly Rating[]>,
  version: number,
): AsyncGenerator<PredictionError> {
  const options = { state, query: { version }, ...(range === undefined ? {} : { range }) }
  for await (const piece of predictServed(reader, ratings, options)) {
    for (const { rating, score, coverage } of piece) {
      const error = targetOf(feedback, rating.rating) - score
      yield { error, isKnown: coverage === 'known' }
    }
  }
}

/** As `ratingErrors`, the wrong labels of a linear version. */
export async function* labelErrors(
  { reader, state, positiveLabel = 1 }: ServedErrorOptions,
  examples: AsyncIterable<readonly ObservedExample[]>,
  version: number,
): AsyncGenerator<PredictionError> {
  for await (const piece of examples) {
    const asked = piece.map((each) => reader.sparseDot(state, withBiasFeature(each), { version }))
    for (const [i, answer] of (await Promise.all(asked)).entries()) {
      if (!answer.ok) throw answer.error
      const isPositive = (piece[i] as ObservedExample).label === positiveLabel
      yield { error: answer.value.sum > 0 === isPositive ? 0 : 1, isKnown: true }
    }
  }
}
