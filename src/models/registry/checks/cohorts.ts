import type { Interval } from '../../quality/intervals.ts'
import { TwoWayMean } from '../../quality/two-way-mean.ts'
import { atMost, type CheckMeasure } from './measure.ts'

/** The errors of two versions on a golden example that the candidate was not trained on. */
export interface CohortPair {
  /** Numbers of the user and the item, from 0, dense; of an error of a whole user, its number for both. */
  readonly user: number
  readonly item: number
  readonly candidate: number
  readonly live: number
}

/** A measure of errors of cohorts. */
export interface CohortMeasure {
  /** Name of the mean error, such as `MSE`. */
  readonly error: string
  /** What a rise is a share of, for the mean error of live. */
  readonly baseOf: (live: number) => number
}

/** A group of users by the errors of two versions. */
export interface CohortErrors {
  /** Which users, in words: `new users (0 to 3 ratings)`. */
  readonly name: string
  readonly users: number
  /** Golden examples. */
  readonly pairs: number
  /** Name of the mean error, such as `MSE`. */
  readonly error: string
  /** Mean errors. */
  readonly candidate: number
  readonly live: number
  /** Mean error of the candidate minus that of live. The intervals of all cohorts hold together with 95 % probability. */
  readonly difference: Interval
  /** How far the error has certainly risen, as a share (`CohortMeasure`); below 0 where it may have fallen. */
  readonly rise: number
}

/** Fewest users, and golden examples, of a cohort that say something about it. */
const MIN_USERS = 10
const MIN_PAIRS = 30
/** Probability that an interval of one of the cohorts does not hold. */
const LEVEL = 0.05
/** Most certain rise of the error of a cohort: of the mean squared error as much as 1 % of the RMSE. */
const MAX_RISE = 0.02

/**
 * The errors of two versions by cohort, worst first: that whose error has certainly risen the most. A version that is better
 * on the average may be worse for a group of users, such as new ones, who have few ratings and so hardly count in the mean.
 * Errors of one user, or of one item, resemble each other (`TwoWayMean`), and the level is divided by the number of cohorts
 * (Bonferroni), so that many of them do not make a false refusal likely. Cohorts with fewer than 10 users or 30 examples are
 * left out.
 */
export function cohortErrors(
  cohorts: ReadonlyMap<string, readonly CohortPair[]>,
  measure: CohortMeasure,
): readonly CohortErrors[] {
  const enough = [...cohorts].filter(
    ([, pairs]) =>
      pairs.length >= MIN_PAIRS && new Set(pairs.map(({ user }) => user)).size >= MIN_USERS,
  )
  const coverage = 1 - LEVEL / enough.length
  return enough
    .map(([name, pairs]) => errorsOf(name, pairs, { ...measure, coverage }))
    .sort((a, b) => b.rise - a.rise)
}

function errorsOf(
  name: string,
  pairs: readonly CohortPair[],
  { error, baseOf, coverage }: CohortMeasure & { readonly coverage: number },
): CohortErrors {
  const means = new TwoWayMean()
  let [candidate, live] = [0, 0]
  for (const pair of pairs) {
    means.add(pair.candidate - pair.live, pair.user, pair.item)
    candidate += pair.candidate / pairs.length
    live += pair.live / pairs.length
  }
  const difference = means.interval(coverage)
  return {
    name,
    users: new Set(pairs.map(({ user }) => user)).size,
    pairs: pairs.length,
    ...{ error, candidate, live, difference },
    // Live may be without errors.
    rise: difference.low === 0 ? 0 : difference.low / baseOf(live),
  }
}

/** The measure of the worst cohort; none where no cohort was compared. `most`: @default 0.02 */
export function cohortMeasures(
  [worst]: readonly CohortErrors[],
  most: number = MAX_RISE,
): readonly CheckMeasure[] {
  if (worst === undefined) return []
  const name = `certain rise of ${worst.error} of ${worst.name}`
  return [{ ...atMost(name, Math.max(0, worst.rise), most), detail: cohortText(worst) }]
}

/** Both errors of a cohort and their difference, in words. */
export function cohortText({
  pairs,
  users,
  error,
  candidate,
  live,
  difference: { mean, low, high },
}: CohortErrors): string {
  const [ours, theirs, change, from, to] = [candidate, live, mean, low, high].map((value) =>
    Number(value.toPrecision(4)),
  )
  const size = pairs === users ? `${users} users` : `${pairs} golden ratings of ${users} users`
  return `${error} ${ours} against ${theirs} of live, on ${size}; the difference is ${change}, from ${from} to ${to}`
}

/** Users with golden ratings, and how many ratings each has in the training. */
export interface ActiveUser {
  readonly user: number
  readonly ratings: number
}

/** Names of the thirds of users, least active first. */
const THIRDS = ['new', 'light', 'heavy'] as const

/**
 * The cohort of each user by activity: thirds of the users by their ratings in the training. Users with as many ratings are
 * in one cohort, so a third may be larger than another one, or empty.
 */
export function activityCohorts(users: readonly ActiveUser[]): ReadonlyMap<number, string> {
  const sorted = users.map(({ ratings }) => ratings).sort((a, b) => a - b)
  const endOf = (third: number): number =>
    sorted[Math.ceil(((third + 1) * sorted.length) / THIRDS.length) - 1] ?? 0
  const ends = [endOf(0), endOf(1), Number.POSITIVE_INFINITY]
  const names = THIRDS.map((third, n) => {
    const from = n === 0 ? 0 : ends[n - 1]! + 1
    const to = ends[n]!
    if (to === Number.POSITIVE_INFINITY) return `${third} users (${from} ratings or more)`
    return from >= to
      ? `${third} users (${to} ratings)`
      : `${third} users (${from} to ${to} ratings)`
  })
  return new Map(
    users.map(({ user, ratings }) => [user, names[ends.findIndex((end) => ratings <= end)]!]),
  )
}
