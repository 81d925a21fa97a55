import { beforeAll, expect, it } from 'vitest'
import { keyGroupOf, subtaskOfKeyGroup } from '../../../src/core/key-group.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { isPairInSample } from '../../../src/jobs/learning/als/frozen-rows.ts'
import type { RatingError } from '../../../src/jobs/learning/error/rating-error.ts'
import type { OnlineRuleOptions } from '../../../src/models/als/online/rules.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { AlsModel } from '../../../src/training/als/solver/model.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { until } from '../../run/until.ts'
import { Learner, PREQUENTIAL } from './learners/rating-learner.ts'

/** Steps so small that the rows stay as they were published: each error is known beforehand. */
const STILL: OnlineRuleOptions = { rule: 'sgd', learningRate: 1e-12 }
const MAX_PARALLELISM = 128
const encoder = new TextEncoder()

let model: AlsModel
let fresh: Rating[]

beforeAll(async () => {
  const all = [...generateRatings({ users: 200, items: 80, ratings: 9000, seed: 3 })]
  model = await trainAls(ratingsTable(all.slice(0, 6000)), { factors: 4, threads: 0 })
  fresh = all.slice(6000)
})

const mean = (values: readonly number[]) => values.reduce((sum, x) => sum + x, 0) / values.length

function dot(left: ArrayLike<number>, right: ArrayLike<number>): number {
  let sum = 0
  for (let i = 0; i < left.length; i++) sum += left[i]! * right[i]!
  return sum
}

/** The slot of two that owns a user. */
function slotOf(user: string): number {
  const group = keyGroupOf(encoder.encode(`${user}-U`), MAX_PARALLELISM)
  return subtaskOfKeyGroup(group, 2, MAX_PARALLELISM)
}

/** Squared error of the published rows; a user or an item that the training did not see has the mean row. */
function publishedSquare({ user, item, rating }: Rating, of: AlsModel = model): number {
  const row = of.rowOf('U', user) ?? of.meanUser
  return (rating - dot(row, of.rowOf('I', item) ?? of.meanItem)) ** 2
}

/** A mean with the fading factor: the weight of each is 0.98 of that of the next. */
function faded(squares: readonly number[]): number {
  const weights = squares.map((_, i) => PREQUENTIAL.fading ** (squares.length - 1 - i))
  return dot(squares, weights) / weights.reduce((sum, x) => sum + x, 0)
}

it('every measure goes on through stop and start, a kill and another parallelism', async () => {
  // The ratings turn shortly before the first stop: what follows is no rise any more.
  const turned = 1080
  const stream = fresh.slice(0, 1900).map((rating, i) => {
    const user = i % 17 === 0 ? `new-${i % 34}` : rating.user
    return { ...rating, user, rating: i < turned ? rating.rating : 6 - rating.rating }
  })
  const squares = stream.map((rating) => publishedSquare(rating))
  const sampled = stream.map(isSampled)
  const seen = new Set<string>()
  const known = stream.map(({ user }) => {
    const isKnown = model.rowOf('U', user) !== undefined || seen.has(user)
    seen.add(user)
    return isKnown ? 1 : 0
  })
  const expectFigures = (error: RatingError): void => {
    const { ratings } = error
    const own = squares.slice(0, ratings)
    const frozen = own.filter((_, i) => sampled[i])
    expect(error.mse).toBeCloseTo(mean(own), 4)
    expect(error.coverage).toBeCloseTo(mean(known.slice(0, ratings)), 9)
    expect(error.startMse).toBeCloseTo(mean(squares.slice(0, 1000)), 4)
    const frozenRatings = error.slots.reduce((sum, part) => sum + part.frozenRatings, 0)
    expect(frozenRatings).toBe(frozen.length)
  }
  /** Of one slot, which has had all ratings. */
  const expectAll = (error: RatingError): void => {
    const own = squares.slice(0, error.ratings)
    expectFigures(error)
    expect(error.windowMse).toBeCloseTo(mean(own.slice(-PREQUENTIAL.window)), 4)
    expect(error.fadedMse).toBeCloseTo(faded(own), 4)
    expect(error.frozenMse).toBeCloseTo(faded(own.filter((_, i) => sampled[i])), 4)
  }

  await using unbroken = await Learner.of(STILL, 1, { learned: model })
  await using learner = await Learner.of(STILL, 1, { learned: model })
  let sent = 0
  const send = async (to: number): Promise<void> => {
    for (const each of [learner, unbroken]) await each.rate(stream.slice(sent, to))
    sent = to
  }
  const rate = async (to: number, slots: number): Promise<RatingError> => {
    await send(to)
    return await learner.error(to, slots)
  }
  const expectUnbroken = async (error: RatingError): Promise<void> => {
    expectAll(error)
    const { alarms, ...figures } = await unbroken.error(error.ratings, 1)
    const { alarms: found, ...others } = error
    expect(others).toEqual({
      ...figures,
      slots: [{ ...figures.slots[0], alarms: expect.anything() }],
    })
    expect([found.adwin.count, found['page-hinkley'].count]).toEqual([
      alarms.adwin.count,
      alarms['page-hinkley'].count,
    ])
  }

  const before = await rate(turned + 20, 1)
  await expectUnbroken(before)
  expect(before.alarms['page-hinkley'].count + before.alarms.adwin.count).toBe(0)

  await learner.stop()
  await learner.start(STILL, 1)
  const after = await rate(turned + 160, 1)
  await expectUnbroken(after)
  await send(1400)
  await learner.kill(0)
  await send(1500)
  const killed = await learner.error(1500, 1)
  await expectUnbroken(killed)

  // Two slots: the first goes on with the measures of the one, the second begins.
  await learner.stop()
  await learner.start(STILL, 2)
  const split = await rate(1700, 2)
  expectFigures(split)
  const [first, second] = [0, 1].map((slot) => {
    const from = slot === 0 ? 0 : 1500
    const isOwn = ({ user }: Rating, i: number) => i < 1500 || slotOf(user) === slot
    return stream.slice(0, 1700).flatMap((rating, i) => (i >= from && isOwn(rating, i) ? [i] : []))
  }) as [number[], number[]]
  for (const [slot, own] of [first, second].entries()) {
    const part = split.slots.find((each) => each.slot === slot)!
    const ownSquares = own.map((i) => squares[i]!)
    expect(part.ratings).toBe(own.length)
    expect(part.windowMse).toBeCloseTo(mean(ownSquares.slice(-PREQUENTIAL.window)), 4)
    expect(part.fadedMse).toBeCloseTo(faded(ownSquares), 4)
  }

  // One again: its window has the newest of both, in proportion to their ratings; sums are added.
  await learner.stop()
  await learner.start(STILL, 1)
  const joined = await learner.error(1700, 1)
  expectFigures(joined)
  expect(joined.alarms).toEqual(split.alarms)
  const ofFirst = Math.round((PREQUENTIAL.window * first.length) / 1700)
  const window = [...first.slice(-ofFirst), ...second.slice(ofFirst - PREQUENTIAL.window)]
  expect(joined.windowMse).toBeCloseTo(mean(window.map((i) => squares[i]!)), 4)
  const weights = (count: number) => (1 - PREQUENTIAL.fading ** count) / (1 - PREQUENTIAL.fading)
  const [a, b] = [weights(first.length), weights(second.length)]
  const [fadedA, fadedB] = [first, second].map((own) => faded(own.map((i) => squares[i]!)))
  expect(joined.fadedMse).toBeCloseTo((a * fadedA! + b * fadedB!) / (a + b), 4)
  const end = await rate(1900, 1)
  expectFigures(end)
  expect(end.windowMse).toBeCloseTo(mean(squares.slice(1900 - PREQUENTIAL.window, 1900)), 4)
})

it('the error is of what was served when each rating came, also of a model that learns', async () => {
  const rule = { rule: 'gram' } as const
  await using learner = await Learner.of(rule, 1, { learned: model })
  // Every fourth one is in the sample.
  const [sampled, others] = [fresh.filter(isSampled), fresh.filter((each) => !isSampled(each))]
  const stream = Array.from({ length: 160 }, (_, n) => {
    return n % 4 === 0 ? sampled[n / 4]! : others[n]!
  })
  const squares: number[] = []
  /** Rates one after the other, each when the one before has changed its rows. */
  const rate = async (to: number): Promise<void> => {
    for (const rating of stream.slice(squares.length, to)) {
      const keys = [`${rating.user}-U`, `${rating.item}-I`] as const
      const [user, item] = [await learner.row(keys[0]), await learner.row(keys[1])]
      squares.push((rating.rating - dot(user, item)) ** 2)
      await learner.rate([rating])
      await until('both rows have changed', async () => {
        const now = [await learner.row(keys[0]), await learner.row(keys[1])]
        return now[0]!.some((x, i) => x !== user[i]) && now[1]!.some((x, i) => x !== item[i])
      })
    }
  }
  const expectError = async (slots: number): Promise<void> => {
    const { mse, frozenMse } = await learner.error(squares.length, slots)
    expect(mse).toBeCloseTo(mean(squares), 3)
    const sample = stream.slice(0, squares.length).filter(isSampled)
    expect(mean(sample.map((rating) => publishedSquare(rating)))).not.toBeCloseTo(mean(squares), 2)
    // With one slot; with two, each fades its own.
    if (slots === 1)
      expect(frozenMse).toBeCloseTo(faded(sample.map((rating) => publishedSquare(rating))), 3)
  }
  await rate(40)
  await expectError(1)
  await learner.stop()
  await learner.start(rule, 1)
  await rate(80)
  await learner.kill(0)
  // Rows of a checkpoint, from which ratings are learned again, would be taken for rows that have changed.
  await learner.error(80, 1)
  await rate(120)
  await expectError(1)
  await learner.stop()
  await learner.start(rule, 2)
  await rate(160)
  await expectError(2)
})

/** Whether a rating is also predicted from the rows as they were published. */
function isSampled({ user, item }: Rating): boolean {
  const key = encoder.encode(`${item}-I`)
  return isPairInSample(encoder.encode(`${user}-U`), { bytes: key, start: 0, length: key.length })
}

/** More rows than a budget of 2 MB has room for. */
async function largeModel(): Promise<{ learned: AlsModel; stream: Rating[] }> {
  const all = [...generateRatings({ users: 4000, items: 2500, ratings: 62_000, seed: 4 })]
  const learned = await trainAls(ratingsTable(all.slice(0, 60_000)), {
    ...{ factors: 60, iterations: 1, threads: 0 },
  })
  return { learned, stream: all.slice(60_000) }
}

it('the error of a rule that diverges is that of the stars that are served, beyond the range of ratings', async () => {
  const rule = { rule: 'sgd', learningRate: 4 } as const
  await using learner = await Learner.of(rule, 1, { learned: model })
  await learner.rate(fresh)
  const { mse, frozenMse } = await learner.error(fresh.length, 1)
  // No error within 1 to 5 stars is larger than 4.
  expect(mse).toBeGreaterThan(16)
  expect(frozenMse).toBeLessThan(4)
})

it('under a small memory budget the error is of what is served, on one slot and on two, through a kill', async () => {
  const { learned, stream } = await largeModel()
  const mse = mean(stream.map((rating) => publishedSquare(rating, learned)))
  const options = { learned, budget: '2mb' }
  await using one = await Learner.of(STILL, 1, options)
  await one.rate(stream)
  expect((await one.error(stream.length, 1)).mse).toBeCloseTo(mse, 4)
  await one.stop()

  await using two = await Learner.of(STILL, 2, options)
  await two.rate(stream.slice(0, 1000))
  expect((await two.error(1000, 2)).ratings).toBe(1000)
  await two.rate(stream.slice(1000))
  await until('rows are asked for', async () => (await two.sum('itemRowsAsked')) > 50)
  await two.kill(0)
  expect((await two.error(stream.length, 2)).mse).toBeCloseTo(mse, 4)
  expect(await two.deltas()).toBe(stream.length)
  expect([...one.warnings, ...two.warnings]).toEqual([])
})

/** Users, and items of which each slot learns more than one segment of its copies has room for. */
function modelOfLongRows(): AlsModel {
  const random = seededRandom(8)
  const factors = 250
  const users = Array.from({ length: 300 }, (_, n) => `user-${n}`)
  const items = Array.from({ length: 1600 }, (_, n) => `item-${n}`)
  const rows = (count: number): Float32Array =>
    Float32Array.from({ length: count * factors }, () => 0.11 + 0.02 * random.normal())
  return new AlsModel({
    ...{ users, items, userRows: rows(users.length), itemRows: rows(items.length), factors },
    ...{ biased: false, globalMean: 3, range: { min: 1, max: 5 }, history: [] },
  })
}

it('under a small memory budget the error without learning leaves out no row that is stored, on two slots, through a kill', async () => {
  const learned = modelOfLongRows()
  const { users, items } = learned
  const random = seededRandom(9)
  const stream = Array.from({ length: 3000 }, () => ({
    user: users[random.below(users.length)]!,
    item: items[random.below(items.length)]!,
    rating: 1 + random.below(5),
    timestamp: -1,
  }))
  const rule = { rule: 'sgd', learningRate: 0.01 } as const
  await using learner = await Learner.of(rule, 2, { learned, budget: '1mb' })
  await learner.rate(stream.slice(0, 2000))
  await learner.error(2000, 2)
  await learner.kill(0)
  await learner.rate(stream.slice(2000))
  const { slots, mse } = await learner.error(stream.length, 2)
  expect(mse).not.toBeCloseTo(mean(stream.map((each) => publishedSquare(each, learned))), 4)
  for (const { slot, frozenMse, frozenRatings } of slots) {
    const own = stream.filter((rating) => slotOf(rating.user) === slot && isSampled(rating))
    expect(frozenRatings).toBe(own.length)
    expect(frozenMse).toBeCloseTo(faded(own.map((each) => publishedSquare(each, learned))), 3)
  }
  expect(learner.warnings).toEqual([])
})

it('under a small memory budget each row learns what it learns in memory', async () => {
  const { learned, stream } = await largeModel()
  // No row comes twice: the order does not matter.
  const known = new Set<string>()
  const chosen = stream.filter(({ user, item }) => {
    const keys = [`${user}-U`, `${item}-I`]
    if (keys.some((key) => known.has(key))) return false
    for (const key of keys) known.add(key)
    return true
  })
  expect(chosen.length).toBeGreaterThan(500)
  const keys = [...known]
  for (const rule of ['gram', 'sgd'] as const) {
    const rowsWith = async (budget: string): Promise<Map<string, readonly number[]>> => {
      await using learner = await Learner.of({ rule }, 2, { learned, budget })
      await learner.rate(chosen)
      await learner.error(chosen.length, 2)
      await until(
        'all deltas are folded',
        async () => (await learner.sum('deltasFolded')) === chosen.length,
      )
      const asked = await learner.sum('itemRowsAsked')
      if (budget === '2mb') expect(asked).toBeGreaterThan(0)
      else expect(asked).toBe(0)
      const rows = await Promise.all(keys.map((key) => learner.row(key)))
      return new Map(keys.map((key, n) => [key, [...rows[n]!]]))
    }
    expect(await rowsWith('2mb'), rule).toEqual(await rowsWith('256mb'))
  }
})
