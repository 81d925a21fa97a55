import { requireArgument } from '../../../core/errors.ts'
import type { LearnedRow } from './rule.ts'

/*
 * Ratings of newcomers share an error (random effects; a flood of accounts is the extreme case): of n of them
 * the next one weighs 1 / (1 + n / K)^2, so that all together weigh n / (1 + n / K), at most K.
 */

/** Ratings after which a user is a newcomer by half. */
const NEWCOMER_RATINGS = 10

/** To which part a user is a newcomer: of c ratings, 1 / (1 + c / 10). */
export function newnessOf({ updates, evidence }: LearnedRow): number {
  return 1 / (1 + (updates + evidence) / NEWCOMER_RATINGS)
}

/** The newness in the last float of a delta; 0 in those of earlier builds. A sum of deltas has at most 1. */
export function newnessIn(delta: Float32Array, deltaLength: number): number {
  return Math.min(1, Math.max(0, delta[deltaLength - 1]!))
}

/** Weight of a rating in an item's row, after `ratings` others; `most` is K. */
export function newcomerWeight(newness: number, ratings: number, most: number): number {
  return 1 / (1 + (newness * ratings) / most) ** 2
}

/** Checks K. Throws INVALID_ARGUMENT. */
export function requireNewcomers(newcomers: number): void {
  requireArgument(newcomers > 0, `newcomers is above 0, not ${newcomers}`)
}
