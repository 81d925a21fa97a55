import { generateRatings } from '../../../src/models/ratings/generator.ts'
import { type AlsOptions, alsSettings } from '../../../src/training/als/solver/options.ts'
import { type AlsShare, alsShare } from '../../../src/training/als/solver/share.ts'
import { matrixOf } from '../../../src/training/als/solver/sides.ts'
import type { AlsSideName } from '../../../src/training/als/solver/solver.ts'
import { initialiseFactors } from '../../../src/training/als/solver/start.ts'
import {
  type RatingsTable,
  ratingStatistics,
  ratingsTable,
} from '../../../src/training/data/ratings-table.ts'

/** A few generated ratings. */
export function fewRatings(users: number, items: number, ratings: number): RatingsTable {
  return ratingsTable(generateRatings({ users, items, ratings, noise: 0.4, seed: 3 }))
}

/** A training problem laid out and at its start, as `trainAls` has it before the first half. */
export function startedShare(table: RatingsTable, options: AlsOptions): AlsShare {
  const settings = alsSettings({ solver: 'cg', threads: 0, ...options })
  const { mean } = ratingStatistics(table)
  const share = alsShare(table, settings, mean)
  initialiseFactors(share, { table, settings, mean })
  return share
}

/** |a - b| / |a| over all elements. */
export function relativeDistance(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [difference, size] = [0, 0]
  for (let i = 0; i < a.length; i++) {
    difference += ((a[i] as number) - (b[i] as number)) ** 2
    size += (a[i] as number) ** 2
  }
  return Math.sqrt(difference / size)
}

/** Relative distances of a side's rows and of its parts of the objective between two shares. */
export function sideDistances(
  expected: AlsShare,
  actual: AlsShare,
  side: AlsSideName,
): { rows: number; objective: number; penalties: number } {
  return {
    rows: relativeDistance(matrixOf(expected, expected[side]), matrixOf(actual, actual[side])),
    objective: relativeDistance(expected[side].objective, actual[side].objective),
    penalties: relativeDistance(expected[side].penalties, actual[side].penalties),
  }
}
