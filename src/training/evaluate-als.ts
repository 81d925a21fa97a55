import type { AlsModel } from './als-model.ts'
import { ErrorAccumulator, type ErrorSummary } from './metrics.ts'
import type { RatingsTable } from './ratings-table.ts'

/** Errors of a model's clipped predictions over all ratings of a table, cold pairs included. */
export function evaluateAls(model: AlsModel, ratings: RatingsTable): ErrorSummary {
  const errors = new ErrorAccumulator()
  for (let i = 0; i < ratings.size; i++) {
    const user = ratings.users[ratings.user[i] as number] as string
    const item = ratings.items[ratings.item[i] as number] as string
    const { score, coverage } = model.predict(user, item)
    errors.add(ratings.rating[i] as number, score, coverage)
  }
  return errors.summary()
}
