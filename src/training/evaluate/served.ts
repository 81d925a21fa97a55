import { aFunction, count, name, numberIn, required } from '../../core/options/kinds.ts'
import { checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import { alsKey, MEAN_IF_UNKNOWN } from '../../models/als/row-key.ts'
import { clipRating, type Rating, type RatingRange } from '../../models/ratings/rating.ts'
import {
  type ModelReader,
  type Prediction,
  QUERY,
  type QueryOptions,
} from '../../wire/model-reader.ts'
import { type RatingsTable, ratingsOf } from '../data/ratings-table.ts'
import { ErrorAccumulator, type ErrorSummary, type PairCoverage } from '../metrics/errors.ts'

/** Ratings to evaluate on: a table in memory, or the pieces of a stream. */
export type EvaluationRatings = RatingsTable | AsyncIterable<readonly Rating[]>

/** A rating and its prediction, clipped. */
export interface EvaluatedRating {
  readonly rating: Rating
  readonly score: number
  readonly coverage: PairCoverage
}

/** Options of `evaluateServed`. */
export interface EvaluateOptions {
  readonly state: string
  readonly query: QueryOptions
  /** Range to clip predictions to. @default no clipping */
  readonly range?: RatingRange
  /** Predictions in flight at the same time. @default 1024 */
  readonly outstanding?: number
  readonly onProgress?: (done: number) => void
}

const EVALUATE: OptionShape<EvaluateOptions> = {
  state: required(name),
  query: required(nested(QUERY)),
  range: nested<RatingRange>({ min: required(numberIn()), max: required(numberIn()) }),
  outstanding: count,
  onProgress: aFunction(),
}

/**
 * Errors of a served ALS model over all ratings, each predicted by query. No pair is dropped: cold
 * ones are predicted from mean rows and counted. Rejects with the first failed query or with
 * EMPTY_DATASET.
 */
export async function evaluateServed(
  reader: ModelReader,
  ratings: EvaluationRatings,
  options: EvaluateOptions,
): Promise<ErrorSummary> {
  checkOptions('evaluateServed', EVALUATE, options)
  const errors = new ErrorAccumulator()
  let done = 0
  for await (const evaluated of predictServed(reader, ratings, options)) {
    for (const { rating, score, coverage } of evaluated) errors.add(rating, score, coverage)
    done += evaluated.length
    options.onProgress?.(done)
  }
  return errors.summary()
}

/** The ratings with their predictions, in order, in pieces of at most `outstanding` ratings. */
export async function* predictServed(
  reader: ModelReader,
  ratings: EvaluationRatings,
  options: EvaluateOptions,
): AsyncGenerator<readonly EvaluatedRating[]> {
  const query = { ...options.query, ...MEAN_IF_UNKNOWN }
  for await (const piece of ratingPieces(ratings, options.outstanding ?? 1024)) {
    const answers = await Promise.all(
      piece.map(({ user, item }) =>
        reader.predict(options.state, alsKey(user, 'U'), alsKey(item, 'I'), query),
      ),
    )
    yield answers.map((answer, i) => ({
      rating: piece[i] as Rating,
      score: options.range === undefined ? answer.score : clipRating(answer.score, options.range),
      coverage: coverageOf(answer),
    }))
  }
}

/** The ratings in pieces of at most `size` ratings. */
export async function* ratingPieces(
  ratings: EvaluationRatings,
  size: number,
): AsyncGenerator<readonly Rating[]> {
  if (Symbol.asyncIterator in ratings) {
    for await (const piece of ratings) {
      for (let at = 0; at < piece.length; at += size) yield piece.slice(at, at + size)
    }
    return
  }
  let piece: Rating[] = []
  for (const rating of ratingsOf(ratings)) {
    if (piece.push(rating) < size) continue
    yield piece
    piece = []
  }
  if (piece.length > 0) yield piece
}

function coverageOf({ leftCold, rightCold }: Prediction): PairCoverage {
  if (leftCold) return rightCold ? 'coldBoth' : 'coldUser'
  return rightCold ? 'coldItem' : 'known'
}
