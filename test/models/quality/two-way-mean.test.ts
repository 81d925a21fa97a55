import { describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import { type Interval, RunningMean } from '../../../src/models/quality/intervals.ts'
import { TwoWayMean } from '../../../src/models/quality/two-way-mean.ts'

/** What the errors of a simulated set of pairs share. */
interface Population {
  readonly users: number
  readonly items: number
  readonly pairs: number
  /** Standard deviation of the error that all pairs of one user, or item, have in common. */
  readonly ofUser: number
  readonly ofItem: number
  /** Exponent of the popularity of items. */
  readonly skew: number
}

const MOVIES: Population = {
  users: 300,
  items: 400,
  pairs: 6000,
  ofUser: 0.35,
  ofItem: 0.35,
  skew: 0.6,
}
const TRIALS = 500

/** Squared errors of pairs of users and items that are drawn anew, so that their true mean is known. */
function* squaredErrors(population: Population, random: Random) {
  const { users, items, pairs, ofUser, ofItem, skew } = population
  const effects = (count: number, deviation: number): Float64Array =>
    Float64Array.from({ length: count }, () => deviation * random.normal())
  const [user, item] = [effects(users, ofUser), effects(items, ofItem)]
  for (let n = 0; n < pairs; n++) {
    const u = random.below(users)
    // The density of popularity falls with its rank.
    const i = Math.floor(items * random.next() ** (1 / (1 - skew)))
    yield { u, i, square: (user[u]! + item[i]! + 0.9 * random.normal()) ** 2 }
  }
}

const holds = ({ low, high }: Interval, truth: number): boolean => low <= truth && truth <= high

/** Share of the trials whose interval has the true mean: with both ways, and as if pairs were independent. */
function coverage(population: Population, seed: number) {
  const random = seededRandom(seed)
  const truth = population.ofUser ** 2 + population.ofItem ** 2 + 0.81
  let [joined, single] = [0, 0]
  for (let trial = 0; trial < TRIALS; trial++) {
    const [both, alone] = [new TwoWayMean(), new RunningMean()]
    for (const { u, i, square } of squaredErrors(population, random)) {
      both.add(square, u, i)
      alone.add(square)
    }
    if (holds(both.interval(), truth)) joined++
    if (holds(alone.interval(), truth)) single++
  }
  return { joined: joined / TRIALS, single: single / TRIALS }
}

// Simulations of millions of pairs, on machines that are busy with other tests.
describe('the mean of pairs of users and items', { timeout: 60_000 }, () => {
  it.each([
    ['users and items that differ', MOVIES],
    ['users that differ', { ...MOVIES, ofItem: 0, ofUser: 0.5 }],
    ['items that differ', { ...MOVIES, ofUser: 0, ofItem: 0.5 }],
    ['few users with many items each', { ...MOVIES, users: 40, pairs: 4000 }],
  ])('has an interval that covers the truth in 93 to 97 of 100 with %s', (name, population) => {
    const { joined, single } = coverage(population, 7)
    console.info(`${name}: covered ${joined}; as if independent ${single}`)
    expect(joined).toBeGreaterThanOrEqual(0.93)
    expect(joined).toBeLessThanOrEqual(0.97)
    expect(single).toBeLessThan(0.9)
  })

  it('is not narrower where pairs are independent', () => {
    const { joined, single } = coverage({ ...MOVIES, ofUser: 0, ofItem: 0 }, 8)
    expect(joined).toBeGreaterThanOrEqual(0.93)
    expect(joined).toBeLessThanOrEqual(0.97)
    expect(single).toBeLessThanOrEqual(joined)
  })

  it('of differences of two versions covers the truth, where the pairs as such do not', () => {
    const random = seededRandom(9)
    let [joined, single] = [0, 0]
    for (let trial = 0; trial < TRIALS; trial++) {
      // The candidate's predictions of an item are off by some more; of half of the items by less.
      const off = Float64Array.from({ length: 200 }, () => 0.3 * random.normal())
      const [both, alone] = [new TwoWayMean(), new RunningMean()]
      for (let n = 0; n < 3000; n++) {
        const [u, i] = [random.below(300), random.below(200)]
        const error = 0.9 * random.normal()
        const difference = (error + off[i]!) ** 2 - error ** 2
        both.add(difference, u, i)
        alone.add(difference)
      }
      if (holds(both.interval(), 0.09)) joined++
      if (holds(alone.interval(), 0.09)) single++
    }
    expect(joined / TRIALS).toBeGreaterThanOrEqual(0.93)
    expect(joined / TRIALS).toBeLessThanOrEqual(0.97)
    expect(single / TRIALS).toBeLessThan(0.93)
  })

  it('has its interval also with one user, one pair or none', () => {
    const mean = new TwoWayMean()
    expect(mean.interval().mean).toBeNaN()
    mean.add(2, 0, 0)
    expect(mean.interval()).toEqual({ mean: 2, low: 2, high: 2 })
    for (let n = 1; n < 100; n++) mean.add(2 + (n % 2), 0, n)
    const { low, high } = mean.interval()
    expect([low, high].every(Number.isFinite)).toBe(true)
    expect(high - low).toBeGreaterThan(0.15)
  })
})
