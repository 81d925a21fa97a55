import { describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../../../../src/core/random.ts'
import {
  activityCohorts,
  type CohortPair,
  cohortErrors,
  cohortMeasures,
  cohortText,
} from '../../../../src/models/registry/checks/cohorts.ts'

const MSE = { error: 'MSE', baseOf: (mse: number) => mse }
const ITEMS = 200

/** Deviations of two versions for a user and for an item, which all their pairs share. */
function deviations(random: Random, count: number): readonly (readonly [number, number])[] {
  return Array.from({ length: count }, () => [0.2 * random.normal(), 0.2 * random.normal()])
}

/**
 * Pairs of `count` users in three cohorts of activity and in ten others. Neither version is better: both are off by deviations
 * of the user, the item and the pair, of the same size. `worse`: factor of the candidate's error for those of a cohort.
 */
function pairsOf(seed: number, worse: Readonly<Record<string, number>> = {}, count = 300) {
  const random = seededRandom(seed)
  const [users, items] = [deviations(random, count), deviations(random, ITEMS)]
  const cohorts = new Map<string, CohortPair[]>()
  const all: CohortPair[] = []
  for (const [user, ofUser] of users.entries()) {
    const names = [['new', 'light', 'heavy'][user % 3]!, `group ${random.below(10)}`]
    const ratings = [8, 12, 30][user % 3]!
    for (let n = 0; n < ratings; n++) {
      const item = Math.floor(ITEMS * random.next() ** 2)
      const noise = random.normal()
      const [candidate, live] = [0, 1].map((version) => {
        const own = 0.2 * random.normal()
        return (noise + ofUser[version]! + items[item]![version]! + own) ** 2
      })
      const factor = names.reduce((product, name) => product * (worse[name] ?? 1), 1)
      const pair = { user, item, candidate: factor * candidate!, live: live! }
      all.push(pair)
      for (const name of names) {
        const known = cohorts.get(name)
        if (known === undefined) cohorts.set(name, [pair])
        else known.push(pair)
      }
    }
  }
  return { cohorts, all }
}

/** Names of the measures that fail, with a bound. */
function refused(cohorts: ReadonlyMap<string, readonly CohortPair[]>, most?: number): string[] {
  const measures = cohortMeasures(cohortErrors(cohorts, MSE), most)
  return measures.flatMap(({ name, passed }) => (passed ? [] : [name]))
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

describe('cohorts of two versions', () => {
  it('versions that are equally good are refused in at most 5 of 100 cases, also without any tolerance', () => {
    const seeds = Array.from({ length: 200 }, (_, n) => n + 1)
    const drawn = seeds.map((seed) => pairsOf(seed, {}, 150).cohorts)
    const strict = drawn.filter((cohorts) => refused(cohorts, 0).length > 0).length
    const usual = drawn.filter((cohorts) => refused(cohorts).length > 0).length
    console.info(`false refusals in 200: ${strict} without a tolerance, ${usual} with that of 0.02`)
    expect(strict).toBeLessThanOrEqual(10)
    expect(usual).toBeLessThanOrEqual(strict)
  })

  it('a version that is better on the average and 10 % worse for new users is refused', () => {
    let better = 0
    for (let seed = 1; seed <= 20; seed++) {
      // Root mean squared errors: 10 % more for new users.
      const { cohorts, all } = pairsOf(seed, { new: 1.1 ** 2, light: 0.93, heavy: 0.93 })
      const [candidate, live] = [mean(all.map((p) => p.candidate)), mean(all.map((p) => p.live))]
      if (candidate > live) continue
      better++
      expect(refused(cohorts), `seed ${seed}`).toEqual(['certain rise of MSE of new'])
    }
    expect(better).toBeGreaterThan(10)
  })

  it('the worst cohort says both errors and the interval', () => {
    const { cohorts } = pairsOf(1, { new: 1.5 })
    const [worst, ...others] = cohortErrors(cohorts, MSE)
    const pairs = cohorts.get('new')!
    expect(worst).toMatchObject({ name: 'new', users: 100, pairs: 800 })
    expect(worst!.candidate).toBeCloseTo(mean(pairs.map(({ candidate }) => candidate)), 9)
    expect(worst!.live).toBeCloseTo(mean(pairs.map(({ live }) => live)), 9)
    expect(worst!.difference.mean).toBeCloseTo(worst!.candidate - worst!.live, 9)
    expect(worst!.rise).toBeCloseTo(worst!.difference.low / worst!.live, 9)
    expect(others.every(({ rise }) => rise <= worst!.rise)).toBe(true)
    const [measure] = cohortMeasures([worst!, ...others])
    expect(measure!.detail).toBe(cohortText(worst!))
    expect(measure!.detail).toMatch(
      /^MSE [\d.]+ against [\d.]+ of live, on 800 golden ratings of 100 users; the difference is [\d.]+, from [\d.]+ to [\d.]+$/,
    )
  })

  it('a cohort of few users, or of few ratings, says nothing', () => {
    const few = (users: number, pairs: number): CohortPair[] =>
      Array.from({ length: pairs }, (_, n) => {
        return { user: n % users, item: n, candidate: 2 + (n % 3), live: 1 }
      })
    expect(cohortErrors(new Map([['nine users', few(9, 300)]]), MSE)).toEqual([])
    expect(cohortErrors(new Map([['29 ratings', few(29, 29)]]), MSE)).toEqual([])
    expect(refused(new Map([['enough', few(10, 30)]]))).toEqual(['certain rise of MSE of enough'])
    expect(cohortMeasures([])).toEqual([])
  })

  it('a live version without errors is no reason to divide by nothing', () => {
    const pairs = (candidate: number): CohortPair[] =>
      Array.from({ length: 60 }, (_, n) => ({ user: n % 20, item: n, candidate, live: 0 }))
    expect(refused(new Map([['all', pairs(0)]]))).toEqual([])
    expect(refused(new Map([['all', pairs(1)]]))).toEqual(['certain rise of MSE of all'])
  })
})

describe('cohorts by activity', () => {
  const named = (ratings: readonly number[]): string[] => [
    ...activityCohorts(ratings.map((each, user) => ({ user, ratings: each }))).values(),
  ]

  it('are thirds of the users', () => {
    expect(named([0, 7, 3, 9, 1, 30])).toEqual([
      'new users (0 to 1 ratings)',
      'light users (2 to 7 ratings)',
      'light users (2 to 7 ratings)',
      'heavy users (8 ratings or more)',
      'new users (0 to 1 ratings)',
      'heavy users (8 ratings or more)',
    ])
  })

  it('users with as many ratings are together', () => {
    expect(new Set(named([2, 2, 2, 2, 2, 2]))).toEqual(new Set(['new users (0 to 2 ratings)']))
    expect(named([1, 1, 1, 1, 1, 9]).at(-1)).toBe('heavy users (2 ratings or more)')
  })
})
