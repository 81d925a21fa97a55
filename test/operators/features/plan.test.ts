import { describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import {
  count,
  distinct,
  type FeatureValues,
  lastN,
  max,
  mean,
  min,
  quantile,
  sum,
} from '../../../src/operators/features/definition.ts'
import { FeaturePlan } from '../../../src/operators/features/plan.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { inWindow, lowerQuantile, type PlainWindow, type Purchase } from './plain-features.ts'

const SECOND = 1_000
const HOUR = 3_600_000
const CASES = 10_000
const where = (): string => 'the test'
const whole = (random: Random, below: number): number => random.below(below)

/** Events in a random order, some of them of one time. */
function randomEvents(random: Random, spanMs: number): readonly Purchase[] {
  const begin = whole(random, 1_000_000) * SECOND
  return Array.from({ length: 1 + whole(random, 12) }, () => ({
    user: 1,
    film: `f${whole(random, 5)}`,
    price: whole(random, 200) - 50,
    time: begin + whole(random, spanMs),
  }))
}

/** A definition, its windows, and what a list of events gives. */
function randomCase(random: Random) {
  const windowMs = (1 + whole(random, 40)) * 700 + 300
  const tiles = 1 + whole(random, 8)
  const events = randomEvents(random, windowMs * 3)
  const over = Math.max(windowMs, SECOND)
  const definition = {
    clicks: count().over(over),
    dear: count((event: Purchase) => event.price > 50).over(over),
    spent: sum((event: Purchase) => event.price).over(over),
    mean: mean((event: Purchase) => event.price).over(over),
    least: min((event: Purchase) => event.price).over(over),
    most: max((event: Purchase) => event.price).over(over),
    films: distinct((event: Purchase) => event.film).over(over),
    median: quantile(0.5, (event: Purchase) => event.price).over(over),
    last: lastN(3, (event: Purchase) => event.film).over(over),
  }
  return { definition, events, window: { windowMs: over, tiles } }
}

type PlainFeatures = FeatureValues<ReturnType<typeof randomCase>['definition']>

/** The features of a list of events, by their definition. */
function plainFeatures(
  events: readonly Purchase[],
  window: PlainWindow,
  at: number,
): PlainFeatures {
  const inside = inWindow(events, window, at)
  const prices = inside.map(({ price }) => price)
  const total = prices.reduce((a, b) => a + b, 0)
  const orNull = (value: number): number | null => (prices.length === 0 ? null : value)
  return {
    clicks: prices.length,
    dear: prices.filter((price) => price > 50).length,
    spent: total,
    mean: orNull(total / prices.length),
    least: orNull(Math.min(...prices)),
    most: orNull(Math.max(...prices)),
    films: new Set(inside.map(({ film }) => film)).size,
    median: orNull(lowerQuantile(prices, 0.5)),
    last: events
      .filter(({ time }) => time >= at - window.windowMs)
      .toSorted((a, b) => a.time - b.time)
      .slice(-3)
      .map(({ film }) => film)
      .reverse(),
  }
}

/** Whether features are equal; a sketch may be off by its error. */
function isSame(
  { films, median, last, ...exact }: PlainFeatures,
  { films: ownFilms, median: ownMedian, last: ownLast, ...ownExact }: PlainFeatures,
): boolean {
  const names = Object.keys(ownExact) as (keyof typeof exact)[]
  const isMedian =
    median === null || ownMedian === null
      ? median === ownMedian
      : Math.abs(median - ownMedian) <= 0.0101 * Math.abs(ownMedian)
  return (
    names.every((name) => exact[name] === ownExact[name]) &&
    // Two values share a register in one of hundreds of cases.
    Math.abs(films - ownFilms) <= 1 &&
    isMedian &&
    last.join() === ownLast.join()
  )
}

describe('features of random events', () => {
  it(`are those of a list of the events, in ${CASES.toLocaleString('en')} definitions`, () => {
    const random = seededRandom(commitSeed())
    const wrong: unknown[] = []
    for (let n = 0; n < CASES; n++) {
      const { definition, events, window } = randomCase(random)
      const plan = new FeaturePlan<Purchase, typeof definition>(definition, { tiles: window.tiles })
      const row = plan.newRow()
      for (const [i, event] of events.entries()) {
        plan.take(event, where)
        plan.fold(row, event.time)
        const seen = events.slice(0, i + 1)
        const newest = Math.max(...seen.map(({ time }) => time))
        const at = newest + whole(random, window.windowMs * 2)
        const read = plan.read(row, at)
        const wanted = plainFeatures(seen, window, at)
        if (isSame(read, wanted)) continue
        wrong.push({ read, wanted, seen, window, at })
      }
    }
    expect(wrong.slice(0, 3)).toEqual([])
  })

  it.each([
    ['count', count().over('1h')],
    ['mean', mean((event: Purchase) => event.price).over('1h')],
    ['distinct', distinct((event: Purchase) => event.film).over('1h')],
    ['quantile', quantile(0.9, (event: Purchase) => event.price).over('1h')],
    ['lastN', lastN(5, (event: Purchase) => event.film).over('1h')],
  ])('have rows within their bound, however many events there are: %s', (_, feature) => {
    const random = seededRandom(commitSeed())
    const definition = { feature }
    const plan = new FeaturePlan<Purchase, typeof definition>(definition, { tiles: 4 })
    const row = plan.newRow()
    let most = 0
    for (let n = 0; n < 20_000; n++) {
      const time = Math.max(0, 1_000 * HOUR + n * 1_500 - whole(random, HOUR / 2))
      const price = Math.exp(random.next() * 30 - 15)
      const film = `f${whole(random, 1_000_000)}`
      plan.take({ user: 1, film, price, time }, where)
      plan.fold(row, time)
      most = Math.max(most, row.length + 16)
    }
    expect(most).toBeLessThanOrEqual(plan.mostBytes)
  })
})

describe('a sketch', () => {
  const HOURS = 24 * 30

  it('counts different values over a month within three standard errors', () => {
    const random = seededRandom(commitSeed())
    const definition = { films: distinct((event: Purchase) => event.film).over('30d') }
    for (const values of [10, 100, 1_000, 20_000]) {
      const plan = new FeaturePlan<Purchase, typeof definition>(definition)
      const row = plan.newRow()
      const events: Purchase[] = []
      for (let n = 0; n < values * 3; n++) {
        const time = 1e12 + whole(random, HOURS * 2 * HOUR)
        events.push({ user: 1, film: `f${whole(random, values)}`, price: 1, time })
      }
      for (const event of events) {
        plan.take(event, where)
        plan.fold(row, event.time)
      }
      const at = 1e12 + HOURS * 2 * HOUR
      const inside = inWindow(events, { windowMs: HOURS * HOUR, tiles: 60 }, at)
      const wanted = new Set(inside.map(({ film }) => film)).size
      const error = Math.abs(plan.read(row, at).films - wanted) / wanted
      expect(error, `${values} values`).toBeLessThan(3 * 0.0325)
    }
  })

  it('counts different values without a bias where few become many', () => {
    const definition = { films: distinct((event: Purchase) => event.film).over('1h') }
    const plan = new FeaturePlan<Purchase, typeof definition>(definition)
    const [rows, values] = [40, 2_500]
    const errors = Array.from({ length: rows }, (_, n) => {
      const row = plan.newRow()
      for (let value = 0; value < values; value++) {
        plan.take({ user: 1, film: `k${n}-${value}`, price: 1, time: 1e12 }, where)
        plan.fold(row, 1e12)
      }
      return (plan.read(row, 1e12).films - values) / values
    })
    const mean = errors.reduce((a, b) => a + b, 0) / rows
    expect(Math.abs(mean)).toBeLessThan((3 * 0.0325) / Math.sqrt(rows))
  })

  it('has quantiles within 1 %, and within the error that it says in tiles of many numbers', () => {
    const random = seededRandom(commitSeed())
    for (const [numbers, error] of [
      [100, 0.0101],
      [20_000, 0.0801],
    ] as const) {
      const definition = {
        p10: quantile(0.1, (event: Purchase) => event.price).over('7d'),
        p50: quantile(0.5, (event: Purchase) => event.price).over('7d'),
        p99: quantile(0.99, (event: Purchase) => event.price).over('7d'),
      }
      const plan = new FeaturePlan<Purchase, typeof definition>(definition, { tiles: 7 })
      const row = plan.newRow()
      const prices: number[] = []
      for (let n = 0; n < numbers; n++) {
        const price = Math.exp(random.next() * 12) * (random.next() < 0.2 ? -1 : 1)
        prices.push(price)
        const time = 1e12 + whole(random, 7 * 24 * HOUR)
        plan.take({ user: 1, film: 'f', price, time }, where)
        plan.fold(row, time)
      }
      const { p10, p50, p99 } = plan.read(row, 0)
      for (const [read, q] of [
        [p10, 0.1],
        [p50, 0.5],
        [p99, 0.99],
      ] as const) {
        const wanted = lowerQuantile(prices, q)
        expect(Math.abs(read! - wanted) / Math.abs(wanted), `${numbers} ${q}`).toBeLessThan(error)
      }
    }
  })

  it('does not depend on the order of the events', () => {
    const random = seededRandom(commitSeed())
    const definition = {
      films: distinct((event: Purchase) => event.film).over('1h'),
      p50: quantile(0.5, (event: Purchase) => event.price).over('1h'),
    }
    const plan = new FeaturePlan<Purchase, typeof definition>(definition, { tiles: 3 })
    const events = Array.from({ length: 3_000 }, (_, n) => {
      const time = 1e12 + whole(random, HOUR)
      return { user: 1, film: `f${n % 700}`, price: random.next() * 1e6, time }
    })
    const read = (list: readonly Purchase[]) => {
      const row = plan.newRow()
      for (const event of list) {
        plan.take(event, where)
        plan.fold(row, event.time)
      }
      return plan.read(row, 1e12 + HOUR)
    }
    const ordered = read(events.toSorted((a, b) => a.time - b.time))
    expect(read(events)).toEqual(ordered)
    expect(read(events.toReversed())).toEqual(ordered)
  })
})

describe('a definition', () => {
  const planOf =
    (definition: never, options = {}) =>
    () =>
      new FeaturePlan(definition, options)
  const refused = (definition: unknown, options: object, message: string): void =>
    expect(planOf(definition as never, options)).toThrow(message)

  it('is refused with what to write where it cannot be', () => {
    refused({}, {}, 'it has 0 features')
    refused({ clicks: 1 }, {}, 'features(...): clicks')
    refused({ 7: count().over('1h') }, {}, '"7" is no name of a feature')
    refused({ clicks: count() }, {}, `feature "clicks" has no window: write count(...).over('24h')`)
    refused({ last: lastN(2, () => 'a') }, {}, 'or give the features a retention')
    refused(
      { clicks: count().over('7d') },
      { retention: '24h' },
      'feature "clicks" has a window of 604800000 ms, and rows stay for 86400000 ms (retention)',
    )
    refused({ clicks: count().over('7d') }, { tiles: 0 }, 'tiles')
    expect(() => count().over('7 months')).toThrow("write '30s', '15m', '1h', '7d' or '2w'")
    expect(() => quantile(90, () => 1)).toThrow('a number from 0 to 1')
    expect(() => lastN(0, () => 1)).toThrow('a whole number from 1 to 100')
  })

  it('counts events for which a function is true, and refuses what is neither', () => {
    const seen: unknown[] = [true, false, 'yes', Promise.resolve(false)]
    const definition = { clicks: count(() => seen.shift() as boolean).over('1h') }
    const plan = new FeaturePlan<Purchase, typeof definition>(definition)
    const row = plan.newRow()
    const event = { user: 1, film: 'f', price: 1, time: 1 }
    for (let n = 0; n < 2; n++) {
      plan.take(event, where)
      plan.fold(row, 1)
    }
    expect(plan.read(row, 1)).toEqual({ clicks: 1 })
    expect(() => plan.take(event, where)).toThrow('count takes true or false, from matches')
    expect(() => plan.take(event, where)).toThrow('count takes true or false, from matches')
  })

  it('refuses a value that a feature cannot fold, and leaves the row as it was', () => {
    const definition = {
      clicks: count().over('1h'),
      spent: sum((event: Purchase) => event.price).over('1h'),
    }
    const plan = new FeaturePlan<Purchase, typeof definition>(definition)
    const row = plan.newRow()
    const event = { user: 1, film: 'f', price: Number.NaN, time: 1 }
    expect(() => plan.take(event, where)).toThrow(
      'feature "spent" of the test got the number NaN: sum takes a finite number; return null to leave an event out',
    )
    expect(plan.read(row, 1)).toEqual({ clicks: 0, spent: 0 })
  })
})
