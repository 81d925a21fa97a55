import type { RandomStreams } from '../../core/random.ts'
import { evidenceOf } from '../als/solver/sides.ts'
import { drawGamma } from './drawing/hyperprior.ts'
import type { BmfShare } from './drawing/share.ts'

/**
 * Degrees of freedom of a rating's error: the noise precision of a user is `precision` times a gamma number of mean
 * 1 and shape half of this, so that errors of unknown users have Student's t distribution.
 */
const FREEDOM = 20

/** What the noise of the users is drawn from. */
export type UserErrors = Pick<BmfShare, 'users' | 'userRoots'>

/** Sum of the squared errors of all ratings at the draw of the users, in the share times the user's weight; weights by age remain. */
export function squaredErrors({ users, userRoots }: UserErrors): number {
  let sum = 0
  for (const [user, squares] of users.objective.entries()) {
    sum += Math.max(0, squares) / userRoots[user]! ** 2
  }
  return sum
}

/**
 * Draws the weight of each user's ratings given the errors at the draw of the users, and writes its root to the share
 * (Geweke, "Bayesian treatment of the independent Student-t linear model", 1993, with a weight for each user
 * in place of one for each rating). `precision`: that of the noise of weight 1.
 */
export function drawUserWeights(
  { users, userRoots }: UserErrors,
  precision: number,
  random: RandomStreams,
): void {
  for (const [user, weighted] of users.objective.entries()) {
    const squares = Math.max(0, weighted) / userRoots[user]! ** 2
    const ratings = evidenceOf(users, user)
    const weight =
      drawGamma((FREEDOM + ratings) / 2, random) / ((FREEDOM + precision * squares) / 2)
    userRoots[user] = Math.sqrt(weight)
  }
}

/** Mean over the ratings of the variance of a rating over that of a rating of weight 1. */
export function meanRelativeVariance({ users, userRoots }: UserErrors): number {
  let sum = 0
  let ratings = 0
  for (const [user, root] of userRoots.entries()) {
    sum += evidenceOf(users, user) / root ** 2
    ratings += evidenceOf(users, user)
  }
  return sum / ratings
}
