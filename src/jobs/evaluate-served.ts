import { clipRating, type RatingRange } from '../models/rating.ts'
import type { PairCoverage } from '../training/als-model.ts'
import { ErrorAccumulator, type ErrorSummary } from '../training/metrics.ts'
import type { RatingsTable } from '../training/ratings-table.ts'
import type { ModelReader, Prediction, QueryOptions } from '../wire/model-reader.ts'

/** Options of `evaluateServed`. */
export interface EvaluateOptions {
  readonly state: string
  readonly query: QueryOptions
  /** Predictions are clipped into it; not at all when missing. */
  readonly range?: RatingRange
  /** Predictions that wait together. @default 1024 */
  readonly outstanding?: number
  readonly onProgress?: (done: number) => void
}

/**
 * Errors of a served ALS model over all ratings, each predicted through queryable state. No pair is
 * dropped: cold ones are predicted from mean rows and counted. Rejects with the first failed query.
 */
export async function evaluateServed(
  reader: ModelReader,
  ratings: RatingsTable,
  options: EvaluateOptions,
): Promise<ErrorSummary> {
  const errors = new ErrorAccumulator()
  const query = { ...options.query, coldLeft: 'MEAN-U', coldRight: 'MEAN-I' }
  const outstanding = options.outstanding ?? 1024
  for (let start = 0; start < ratings.size; start += outstanding) {
    const end = Math.min(start + outstanding, ratings.size)
    const answers = await Promise.all(
      Array.from({ length: end - start }, (_, i) => {
        const user = ratings.users[ratings.user[start + i]!]!
        const item = ratings.items[ratings.item[start + i]!]!
        return reader.predict(options.state, `${user}-U`, `${item}-I`, query)
      }),
    )
    for (const [i, answer] of answers.entries()) {
      const score =
        options.range === undefined ? answer.score : clipRating(answer.score, options.range)
      errors.add(ratings.rating[start + i]!, score, coverageOf(answer))
    }
    options.onProgress?.(end)
  }
  return errors.summary()
}

function coverageOf({ leftCold, rightCold }: Prediction): PairCoverage {
  if (leftCold) return rightCold ? 'coldBoth' : 'coldUser'
  return rightCold ? 'coldItem' : 'known'
}
