import {
  activityCohorts,
  type CohortErrors,
  type CohortMeasure,
  type CohortPair,
  cohortErrors,
} from '../../models/registry/checks/cohorts.ts'
import type { GoldenRatings } from '../port/golden-set.ts'

/** Groups of users. */
export interface UserGroups {
  /** Ids of the users, by number. */
  readonly users: readonly string[]
  /** Ratings of each user in the training; undefined where the training cannot be read. */
  readonly activity: readonly number[] | undefined
  /** Groups by name (`GoldenRatings`). */
  readonly cohorts: GoldenRatings['cohorts']
}

/**
 * The errors of two versions by group of users, worst first: by activity, where the training data can be read, and by the
 * groups of the golden set.
 */
export function comparedCohorts(
  pairs: readonly CohortPair[],
  { users, activity, cohorts = new Map() }: UserGroups,
  measure: CohortMeasure,
): readonly CohortErrors[] {
  const compared = [...new Set(pairs.map(({ user }) => user))]
  const active =
    activity === undefined
      ? new Map<number, string>()
      : activityCohorts(compared.map((user) => ({ user, ratings: activity[user]! })))
  const groups = new Map<string, CohortPair[]>()
  const add = (name: string, pair: CohortPair): void => {
    const known = groups.get(name)
    if (known === undefined) groups.set(name, [pair])
    else known.push(pair)
  }
  const named = [...cohorts].map(([name, ids]) => ({ name: `users of ${name}`, ids }))
  for (const pair of pairs) {
    const ofActivity = active.get(pair.user)
    if (ofActivity !== undefined) add(ofActivity, pair)
    for (const { name, ids } of named) if (ids.has(users[pair.user]!)) add(name, pair)
  }
  return cohortErrors(groups, measure)
}
