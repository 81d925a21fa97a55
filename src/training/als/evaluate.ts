import { checkArgument } from '../../core/options/shape.ts'
import { FACTOR_MODEL, RATINGS_TABLE } from '../data/kinds.ts'
import type { RatingsTable } from '../data/ratings-table.ts'
import { ErrorAccumulator, type ErrorSummary } from '../metrics/errors.ts'
import type { AlsModel } from './solver/model.ts'

/** Errors of a model's clipped predictions over all ratings of a table, cold pairs included. */
export function evaluateAls(model: AlsModel, ratings: RatingsTable): ErrorSummary {
  checkArgument('evaluateAls', 'model', FACTOR_MODEL, model)
  checkArgument('evaluateAls', 'ratings', RATINGS_TABLE, ratings)
  const errors = new ErrorAccumulator()
  for (let i = 0; i < ratings.size; i++) {
    const user = ratings.users[ratings.user[i] as number] as string
    const item = ratings.items[ratings.item[i] as number] as string
    const { score, coverage } = model.predict(user, item)
    errors.add({ user, item, rating: ratings.rating[i] as number }, score, coverage)
  }
  return errors.summary()
}
