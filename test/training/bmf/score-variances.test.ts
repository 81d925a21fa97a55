import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { predictRating } from '../../../src/models/als/row.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import type { ChainState } from '../../../src/training/bmf/chain-state.ts'
import type { BmfOptions } from '../../../src/training/bmf/options.ts'
import { type BmfResult, trainBmf } from '../../../src/training/bmf/train.ts'
import { type RatingsTable, ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { splitAtRandom } from '../../../src/training/data/split-ratings.ts'
import { copiedState } from './copied-state.ts'

const FACTORS = 3
const BURN_IN = 6

/** Ratings of users with noise and activity of their own: what an interval must know. */
function ratingsOf(users: number, items: number): RatingsTable {
  const random = seededRandom(11)
  const row = (): number[] => Array.from({ length: FACTORS }, () => 0.6 * random.normal())
  // Student's t with 20 degrees of freedom, as the chain takes it.
  const weight = (): number =>
    Array.from({ length: 20 }, () => random.normal() ** 2 / 20).reduce((sum, x) => sum + x, 0)
  const people = Array.from({ length: users }, () => ({
    row: row(),
    bias: 0.4 * random.normal(),
    noise: 0.5 / Math.sqrt(weight()),
    ratings: 6 + Math.floor(50 * random.next() ** 3),
  }))
  const things = Array.from({ length: items }, () => ({ row: row(), bias: 0.4 * random.normal() }))
  const ratings: Rating[] = []
  for (const [user, person] of people.entries()) {
    const chosen = new Set<number>()
    // Items at the start of the list are rated most.
    while (chosen.size < person.ratings) chosen.add(Math.floor(items * random.next() ** 1.5))
    for (const item of chosen) {
      const { row: factors, bias } = things[item]!
      const score = 3 + person.bias + bias + predictRating(person.row, factors)
      const rating = score + person.noise * random.normal()
      ratings.push({ user: `u${user}`, item: `i${item}`, rating, timestamp: -1 })
    }
  }
  return ratingsTable(ratings)
}

const { train, test } = splitAtRandom(ratingsOf(900, 150), 0.3)

const trainHere = (options: BmfOptions = {}): Promise<BmfResult> =>
  trainBmf(train, { threads: 0, factors: FACTORS, burnIn: BURN_IN, variance: true, ...options })

interface Tested {
  readonly user: number
  readonly item: number
  /** Rating less the score. */
  readonly miss: number
  readonly variance: number
}

/** The test ratings whose user and item the model knows, by their variance. */
function testedPairs({ model, variances }: BmfResult): Tested[] {
  const [users, items] = [model.users, model.items].map(
    (ids) => new Map(ids.map((id, index) => [id, index])),
  )
  const tested: Tested[] = []
  for (let k = 0; k < test.size; k++) {
    const user = users!.get(test.users[test.user[k]!]!)
    const item = items!.get(test.items[test.item[k]!]!)
    if (user === undefined || item === undefined) continue
    const score = predictRating(model.row('U', user), model.row('I', item))
    const variance = predictRating(variances!.row('U', user), variances!.row('I', item))
    tested.push({ user, item, miss: test.rating[k]! - score, variance })
  }
  return tested.sort((a, b) => a.variance - b.variance)
}

const covered = (pairs: readonly Tested[]): number =>
  pairs.filter(({ miss, variance }) => Math.abs(miss) < 1.96 * Math.sqrt(variance)).length /
  pairs.length

const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

describe('the variances of ratings', () => {
  it('give intervals with their share of ratings, where they are wide and where they are narrow, at any number of sweeps', async () => {
    for (const sweeps of [30, 80, 1000]) {
      const pairs = testedPairs(await trainHere({ sweeps }))
      const fifth = Math.floor(pairs.length / 5)
      const [low, high] = [pairs.slice(0, fifth), pairs.slice(-fifth)].map(covered)
      expect(Math.abs(low! - 0.95)).toBeLessThan(0.02)
      expect(Math.abs(high! - 0.95)).toBeLessThan(0.02)
    }
  })

  it('have as the part of the score the variance of its draws, and do not grow with the sweeps', async () => {
    const means: number[] = []
    for (const sweeps of [80, 600]) {
      const pairs = testedPairs(await trainHere({ sweeps })).filter((_, pair) => pair % 20 === 0)
      const draws = new ScoreMoments(pairs)
      await trainHere({ sweeps, storeEvery: 1, store: draws })
      const byDraws = draws.variances()
      const noise = draws.noise()
      const parts = pairs.map(({ user, variance }) => variance - noise.get(user)!)
      means.push(meanOf(parts))
      expect(meanOf(parts) / meanOf(byDraws)).toBeGreaterThan(0.9)
      expect(meanOf(parts) / meanOf(byDraws)).toBeLessThan(1.1)
      expect(correlation(parts, byDraws)).toBeGreaterThan(0.8)
    }
    expect(means[1]! / means[0]!).toBeLessThan(1.2)
    expect(means[1]! / means[0]!).toBeGreaterThan(0.8)
  })

  it('are higher for a user and an item that training has not seen', async () => {
    const { variances } = await trainHere({ sweeps: 60 })
    const { cold, users, items } = variances!
    expect(cold.user).toBeGreaterThan(meanOf(users.map((_, user) => variances!.row('U', user)[0]!)))
    expect(cold.item).toBeGreaterThan(meanOf(items.map((_, item) => variances!.row('I', item)[1]!)))
  })

  it('are those of a chain that was never stopped', async () => {
    const states: ChainState[] = []
    const store = {
      load: async () => undefined,
      save: async (state: ChainState) => void states.push(copiedState(state)),
    }
    const whole = await trainHere({ sweeps: 12, store, storeEvery: 1 })
    const middle = { load: async () => states[8], save: async () => {} }
    const continued = await trainHere({ sweeps: 12, store: middle })
    expect(continued.variances!.row('U', 3)).toEqual(whole.variances!.row('U', 3))
    expect(continued.variances!.row('I', 3)).toEqual(whole.variances!.row('I', 3))
    expect(continued.variances!.cold).toEqual(whole.variances!.cold)
  })

  it('are not there without the option, and need two sweeps that count', async () => {
    expect((await trainHere({ sweeps: 8, variance: false })).variances).toBeUndefined()
    const one = trainHere({ sweeps: 7 })
    await expect(one).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})

/** Moments of the scores of pairs over the draws of a chain. */
class ScoreMoments {
  private readonly pairs: readonly Tested[]
  private readonly scores: number[][] = []
  private readonly noises: number[][] = []

  constructor(pairs: readonly Tested[]) {
    this.pairs = pairs
  }

  async load(): Promise<undefined> {}

  async save({ sweep, userRows, itemRows, userRoots, precision }: ChainState): Promise<void> {
    if (sweep <= BURN_IN) return
    const stride = userRows.length / userRoots.length
    this.scores.push(
      this.pairs.map(({ user, item }) => {
        const [p, q] = [user * stride, item * stride]
        const own = predictRating(
          userRows.subarray(p, p + FACTORS),
          itemRows.subarray(q, q + FACTORS),
        )
        return own + userRows[p + FACTORS + 1]! + itemRows[q + FACTORS + 1]!
      }),
    )
    this.noises.push(this.pairs.map(({ user }) => 1 / (precision * userRoots[user]! ** 2)))
  }

  variances(): number[] {
    return this.pairs.map((_, pair) => {
      const draws = this.scores.map((scores) => scores[pair]!)
      const mean = meanOf(draws)
      return draws.reduce((sum, draw) => sum + (draw - mean) ** 2, 0) / (draws.length - 1)
    })
  }

  noise(): ReadonlyMap<number, number> {
    return new Map(
      this.pairs.map(({ user }, pair) => [user, meanOf(this.noises.map((each) => each[pair]!))]),
    )
  }
}

function correlation(a: readonly number[], b: readonly number[]): number {
  const [x, y] = [meanOf(a), meanOf(b)]
  const product = meanOf(a.map((value, i) => (value - x) * (b[i]! - y)))
  const spread = (values: readonly number[], mean: number): number =>
    Math.sqrt(meanOf(values.map((value) => (value - mean) ** 2)))
  return product / (spread(a, x) * spread(b, y))
}
