import { normalQuantile } from '../../../core/numbers/normal-quantile.ts'
import type { RunningMean } from '../../quality/intervals.ts'

/** What speaks against the predictions, or the ratings, of one item or one user. */
export interface GroupEvidence {
  /** Id of the item or user. */
  readonly group: string
  /** How far they are off, and its standard error; in the unit of ratings. */
  readonly off: number
  readonly standardError: number
  /** No more than this is said to be certain. @default no limit */
  readonly most?: number
}

/** The item or user against whom most is certain. */
export interface WorstGroup {
  readonly group: string
  /** How far it is off for certain, at least 0, as a share of the range of ratings. */
  readonly certain: number
}

/** Fewest golden ratings of an item, or user, that say something about it. */
export const MIN_GOLDEN_RATINGS = 5

/** Probability that one of all groups is found to be off for certain though none is. */
const LEVEL = 0.01

/**
 * The worst group: that with the largest low end of a one-sided interval. The level is divided by the number of groups,
 * so that many of them do not make a false refusal likely (Bonferroni; the first step of Holm, "A simple sequentially
 * rejective multiple test procedure", 1979, which the worst group is). `width`: of the range of ratings, above 0.
 */
export function worstGroup(
  groups: readonly GroupEvidence[],
  width: number,
): WorstGroup | undefined {
  const quantile = normalQuantile(1 - LEVEL / groups.length)
  let worst: WorstGroup | undefined
  for (const { group, off, standardError, most = Number.POSITIVE_INFINITY } of groups) {
    const certain = Math.max(0, Math.min(most, off - quantile * standardError)) / width
    if (worst === undefined || certain > worst.certain) worst = { group, certain }
  }
  return worst
}

/** The variance within groups, over all of them; NaN where none has two values. */
export function varianceWithin(groups: Iterable<RunningMean>): number {
  let [squares, degrees] = [0, 0]
  for (const { size, deviations } of groups) {
    squares += deviations
    degrees += size - 1
  }
  return squares / degrees
}

/**
 * The variance that a group is judged by: its own, and at least that of all groups, for the few ratings of one can be
 * alike by chance.
 */
export function varianceOf({ size, deviations }: RunningMean, within: number): number {
  return Math.max(deviations / Math.max(1, size - 1), within)
}
