import type { Rating } from '../../../../src/models/ratings/rating.ts'
import { campaignSize } from '../../../run/campaign-size.ts'
import { commitSeed } from '../../../services/commit-seed.ts'

/** Ratings that no one learns. */
export const GOLDEN = 2000
/** Numbers of fresh ratings after which the error is measured. */
export const FRESH = [10, 50, 200, 1000, 5000]

/** Ratings that are trained on, of many users or few, and of many items or few. */
const SETS = [
  { users: 300, items: 120, trained: 8000, seed: 3 },
  { users: 1000, items: 60, trained: 12_000, seed: 4 },
  { users: 80, items: 500, trained: 9000, seed: 5 },
  { users: 600, items: 300, trained: 20_000, seed: 6 },
  { users: 400, items: 200, trained: 4000, seed: 7 },
]

/** All sets, or one by the seed. */
export const CHOSEN_SETS = campaignSize([SETS[commitSeed() % SETS.length]!], SETS)

/** Squared errors of predictions. */
export function squaresOf(
  golden: readonly Rating[],
  predict: (rating: Rating) => number,
): readonly number[] {
  return golden.map((rating) => (predict(rating) - rating.rating) ** 2)
}
