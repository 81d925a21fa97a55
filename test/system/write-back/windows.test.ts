import { expect, it } from 'vitest'
import { isWeirError } from '../../../src/core/errors.ts'
import type { ServedJob } from '../../../src/jobs/served-job.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { AlsModel } from '../../../src/training/als/solver/model.ts'
import { until } from '../../run/until.ts'
import { hasReadAll, metric, servedRows, TOPIC, WriteBackFixture } from './fixture.ts'

const AT_THE_END = 3_600_000
const RATE = 0.1
const FACTORS = 4
const ITEMS = 6
const PHASES = 4

const itemOf = (item: number): string => `i${item}`
/** Of a phase and an item, one user for each factor. */
const userOf = (phase: number, item: number, factor: number): string =>
  `p${phase}i${item}f${factor}`
const trainedItem = (item: number, factor: number): number => 0.4 + 0.05 * item + 0.1 * factor
const trainedUser = (phase: number, item: number): number => 0.8 + 0.1 * phase + 0.02 * item
const ratingOf = (phase: number, item: number, factor: number): number =>
  1 + ((phase + 2 * item + factor) % 5)

/** Calls `take` for each rating of each phase, in this order. */
function each(take: (phase: number, item: number, factor: number) => void): void {
  for (let phase = 0; phase < PHASES; phase++)
    for (let item = 0; item < ITEMS; item++)
      for (let factor = 0; factor < FACTORS; factor++) take(phase, item, factor)
}

/**
 * A model whose users have one factor that is not 0. So the steps of the users of a phase on one item do not depend on each
 * other: their sum is the same in any order, and in any windows.
 */
function model(): AlsModel {
  const users: string[] = []
  const rows: number[] = []
  each((phase, item, factor) => {
    users.push(userOf(phase, item, factor))
    for (let f = 0; f < FACTORS; f++) rows.push(f === factor ? trainedUser(phase, item) : 0)
  })
  const items = Array.from({ length: ITEMS }, (_, item) => itemOf(item))
  return new AlsModel({
    users,
    items,
    userRows: Float32Array.from(rows),
    itemRows: Float32Array.from({ length: ITEMS * FACTORS }, (_, n) =>
      trainedItem(Math.floor(n / FACTORS), n % FACTORS),
    ),
    userRatings: Uint32Array.from(users, () => 1),
    itemRatings: Uint32Array.from(items, () => 1),
    factors: FACTORS,
    biased: false,
    globalMean: 3,
    range: { min: 1, max: 5 },
    history: [],
  })
}

/** The items after each rating of the phases was learned once, by plain steps: the rows alone, without Weir. */
function learnedItems(phases: number): ReadonlyMap<string, readonly number[]> {
  const rows = Array.from({ length: ITEMS }, (_, item) =>
    Array.from({ length: FACTORS }, (_, factor) => trainedItem(item, factor)),
  )
  each((phase, item, factor) => {
    if (phase >= phases) return
    const user = trainedUser(phase, item)
    const row = rows[item]!
    row[factor]! += RATE * (ratingOf(phase, item, factor) - user * row[factor]!) * user
  })
  return new Map(rows.map((row, item) => [`${itemOf(item)}-I`, row]))
}

function ratingsOf(phase: number): readonly Rating[] {
  const ratings: Rating[] = []
  each((of, item, factor) => {
    if (of !== phase) return
    const rating = ratingOf(phase, item, factor)
    ratings.push({
      user: userOf(phase, item, factor),
      item: itemOf(item),
      rating,
      timestamp: 1000 * phase,
    })
  })
  return ratings
}

/** How far the rows of items are from those that were computed. */
function farthest(rows: ReadonlyMap<string, string>, phases: number): number {
  const errors = [...learnedItems(phases)].flatMap(([key, expected]) => {
    const bytes = Uint8Array.from(Buffer.from(rows.get(key)!, 'hex'))
    const row = new Float32Array(bytes.buffer)
    return expected.map((value, f) => Math.abs(value - row[f]!))
  })
  return Math.max(...errors)
}

/** Waits until every rating is learned, its sum is in the topic, and every sum is folded. */
async function untilFolded(job: ServedJob, { topics }: WriteBackFixture): Promise<void> {
  await until('every sum is folded', async () => {
    try {
      if (!(await hasReadAll(job, topics, TOPIC))) return false
      await job.execution.takeCheckpoint(true)
      return await hasReadAll(job, topics, TOPIC)
    } catch (error) {
      // A slot is being restarted.
      if (isWeirError(error)) return false
      throw error
    }
  })
}

/** Jobs that sum the deltas of some ratings. */
async function summing(): Promise<WriteBackFixture> {
  return await WriteBackFixture.start(model(), undefined, undefined, {
    rule: {
      rule: 'sgd',
      deltas: 'step',
      learningRate: RATE,
      newcomers: 1e12,
      userRegularization: 0,
      itemRegularization: 0,
    },
    window: { count: 5, intervalMs: 100 },
    neverStop: true,
  })
}

it('a job that is started from an older savepoint leaves out the sums of the run that is given up, and replaces its rows', async () => {
  await using fixture = await summing()
  const first = await fixture.learn('first', AT_THE_END)
  await fixture.rate(ratingsOf(0))
  await untilFolded(first.job, fixture)
  const savepoint = await first.job.execution.triggerSavepoint()
  await fixture.rate(ratingsOf(1))
  await untilFolded(first.job, fixture)
  await first.job.close()

  const second = await fixture.learn('first', AT_THE_END, false, undefined, savepoint)
  await untilFolded(second.job, fixture)
  expect(await metric(second.job, 'ratingsLearned')).toBe(FACTORS * ITEMS)
  const served = await servedRows(second.job)
  expect(farthest(served, 2)).toBeLessThan(1e-6)
  await second.job.close()
  expect(await fixture.topicRows()).toEqual(served)
})

it('sums of deltas are written back once each, through kills, the end of a job and the loss of its state', async () => {
  await using fixture = await summing()
  const first = await fixture.learn('first', 50)
  await fixture.rate(ratingsOf(0))
  await until('rows are written back', () => first.writtenBack.length > 0)
  await first.kill(0)
  await untilFolded(first.job, fixture)
  expect(farthest(await servedRows(first.job), 1)).toBeLessThan(1e-6)
  await first.kill(1)
  await fixture.rate(ratingsOf(1))
  await until('the ratings are learned', async () => {
    return (await metric(first.job, 'ratingsLearned')) >= FACTORS * ITEMS
  })
  // Its last sums come into the topic with its last checkpoint: they are not in the rows that it writes back.
  await first.job.close()

  const second = await fixture.learn('second', AT_THE_END)
  await untilFolded(second.job, fixture)
  expect(farthest(await servedRows(second.job), 2)).toBeLessThan(1e-6)
  expect(await metric(second.job, 'ratingsLearned')).toBe(0)
  await second.job.close()

  const third = await fixture.learn('third', AT_THE_END)
  await fixture.rate(ratingsOf(2))
  await untilFolded(third.job, fixture)
  expect(farthest(await servedRows(third.job), 3)).toBeLessThan(1e-6)
  // What it learned is lost, and its sums are in the topic.
  await third.job.execution.cancel()
  await third.job.close()

  const fourth = await fixture.learn('fourth', AT_THE_END)
  await untilFolded(fourth.job, fixture)
  expect(farthest(await servedRows(fourth.job), 3)).toBeLessThan(1e-6)
  await fixture.rate(ratingsOf(3))
  await untilFolded(fourth.job, fixture)
  expect(await metric(fourth.job, 'ratingsLearned')).toBe(2 * FACTORS * ITEMS)
  const served = await servedRows(fourth.job)
  expect(farthest(served, 4)).toBeLessThan(1e-6)
  await fourth.job.close()
  const written = await fixture.topicRows()
  expect(farthest(written, 4)).toBeLessThan(1e-6)
  expect(written).toEqual(served)
})
