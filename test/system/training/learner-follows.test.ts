import { beforeAll, expect, it } from 'vitest'
import { isPairInSample } from '../../../src/jobs/learning/als/frozen-rows.ts'
import type { RatingError } from '../../../src/jobs/learning/error/rating-error.ts'
import { ObservationsDigester } from '../../../src/models/registry/ranges/observations-digest.ts'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { until } from '../../run/until.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { FRESH_RATINGS, LearningService, TRAINED_RATINGS } from './learners/learning-service.ts'

/** Both have rows of 6 floats: 4 factors and 2 biases, or 6 factors. */
let biased: AlsModel
let plain: AlsModel
/** Rows of 9 floats. */
let longer: AlsModel

beforeAll(async () => {
  const table = ratingsTable(TRAINED_RATINGS)
  biased = await trainAls(table, { factors: 4, biases: true, threads: 0 })
  plain = await trainAls(table, { factors: 6, biases: false, threads: 0 })
  longer = await trainAls(table, { factors: 7, biases: true, threads: 0 })
})

const RULES = ['gram', 'stack', 'sgd', 'fold-in'] as const
/** The short part has every second rule, by the seed. */
const FOLLOWING = RULES.filter((_, n) => campaignSize(n % 2 === commitSeed() % 2, true))
const spanOf = (bytes: Uint8Array) => ({ bytes, start: 0, length: bytes.length })

/** A step that promised not to lower the quality may move the RMSE of the golden ratings by this much. */
const INTERVAL = 0.03

it.each(FOLLOWING)(
  '%s follows promotions to rows of another layout and of another length, and the way back',
  async (rule) => {
    const service = new LearningService()
    await service.publish(biased)
    await service.start({ rule })
    const trained = await service.rmse()
    await service.learn(500)
    expect(await service.publish(plain)).toBe(2)
    await service.promote(2)
    await service.learn(500)
    expect(await service.publish(longer)).toBe(3)
    await service.promote(3)
    const before = await service.rmse()
    await service.learn(500)
    expect(await service.rmse()).toBeLessThan(before + INTERVAL)
    expect([...(await service.rows()).values()].every(({ length }) => length === 9)).toBe(true)
    await service.promote(1)
    // It learns what was observed while the others were live.
    await service.untilLearned(2500)
    expect(await service.rmse()).toBeLessThan(trained + INTERVAL)
    const rows = await service.rows()
    await service.stop()
    await service.start({ rule }, { slots: 1 })
    expect(await service.rows()).toEqual(rows)
    await service.learn(200)
    await service.promote(3)
    expect(await service.rmse()).toBeLessThan(before + INTERVAL)
    await service.stop()
  },
)

it('a promotion that the job that learns could not follow is refused before it is announced', async () => {
  const service = new LearningService()
  await service.publish(biased)
  expect(await service.publish(plain, { feedback: 'implicit' })).toBe(2)
  expect(await service.publish(plain)).toBe(3)
  // At once when the job says that it learns.
  await service.start({ rule: 'gram' })
  expect(await service.tryToPromote(2)).toContain('it would be served, but not learned')
  // It learns on: on version 1, and after a promotion that it can follow.
  await service.learn(100)
  expect(await service.tryToPromote(3)).toBeUndefined()
  await service.untilLearning(3)
  await service.learn(100)
  expect(service.warnings).toEqual([])
  await service.stop()
})

it('a job whose rule changes keeps its rows and says that it drops what the old rule kept', async () => {
  const service = new LearningService()
  await service.publish(biased)
  await service.start({ rule: 'gram' })
  await service.learn(300)
  const before = await service.rmse()
  for (const [n, rule] of (['stack', 'sgd', 'fold-in', 'gram'] as const).entries()) {
    const rows = await service.rows()
    await service.stop()
    await service.start({ rule })
    expect(await service.rows()).toEqual(rows)
    expect(service.warnings).toHaveLength(n + 1)
    expect(service.warnings[n]).toContain('they stay, but what')
    await service.learn(300)
    expect(await service.rmse(), rule).toBeLessThan(before + INTERVAL)
  }
  await service.stop()
})

it('LEARNING_ERROR counts each rating once, and goes on, whatever the number of slots was before', async () => {
  const service = new LearningService()
  await service.publish(biased)
  const encoder = new TextEncoder()
  let sent = 0
  for (const slots of [4, 1, 2, 4]) {
    await service.start({ rule: 'gram' }, { slots })
    await service.learn(300)
    sent += 300
    let error: RatingError | undefined
    await until(`the error is of ${sent} ratings`, async () => {
      error = await service.error()
      return error?.ratings === sent
    })
    // Pairs of the sample are also predicted from the rows as they were published.
    const learned = FRESH_RATINGS.slice(0, sent)
    const sample = learned.filter(({ user, item }) =>
      isPairInSample(encoder.encode(`${user}-U`), spanOf(encoder.encode(`${item}-I`))),
    )
    const frozen = error!.slots.reduce((sum, part) => sum + part.frozenRatings, 0)
    expect(frozen).toBe(sample.length)
    const squares = sample.map(
      ({ user, item, rating }) => (biased.predict(user, item).score - rating) ** 2,
    )
    const mse = squares.reduce((sum, square) => sum + square, 0) / squares.length
    console.info({ slots, frozenMse: error!.frozenMse, mse })
    expect(Math.abs(error!.frozenMse - mse)).toBeLessThan(0.1)
    await service.stop()
  }
})

it('a stop with a savepoint writes back what was learned, before it is answered', async () => {
  const service = new LearningService()
  await service.publish(biased)
  await service.start({ rule: 'gram' }, { writeBackMs: 3_600_000 })
  await service.learn(500)
  const served = await service.rows()
  await service.stopWithSavepoint()
  expect(await service.topicRows(1)).toEqual(served)
  await service.stop()
})

it('a job that is canceled says that the topic lacks what it learned since the last write-back', async () => {
  const service = new LearningService()
  await service.publish(biased)
  await service.start({ rule: 'gram' }, { writeBackMs: 3_600_000 })
  const published = await service.topicRows(1)
  await service.learn(100)
  await service.cancel()
  const said = 'the job is CANCELED: what it learned since the last write-back is not in topic'
  await until('it says so', () => service.warnings.some((warning) => warning.includes(said)))
  expect(await service.topicRows(1)).toEqual(published)
  await service.stop()
})

it('a version of a file that goes live beside a learner learns what was learned before, and nothing of its file', async () => {
  const service = new LearningService()
  await service.publish(biased)
  await service.produce(300)
  await service.start({ rule: 'gram' }, { learnFrom: 'end' })
  await service.learn(200)
  const digester = new ObservationsDigester()
  for (const { user, item, rating } of FRESH_RATINGS.slice(0, 300)) {
    digester.addRating(user, item, rating)
  }
  const files = [{ file: 'base.csv', sha256: 'a'.repeat(64), read: digester.digest }]
  await service.publish(plain, undefined, { files, ranges: [], newestEventMs: -1 })
  await service.promote(2)
  await service.untilLearned(400)
  await service.learn(100)
  await until('its error is of 300 ratings', async () => (await service.error(2))?.ratings === 300)
  expect(service.notes.at(-1)).toBe(
    'the first 300 observations of topic observations are those of base.csv that it was trained on, so learning begins after them',
  )
  // A version that was live before goes on where it was left.
  await service.promote(1)
  await service.untilLearned(600)
  await until('its error is of 300 ratings', async () => (await service.error(1))?.ratings === 300)
  expect(service.notes).toHaveLength(2)
  // Of another one nothing is known, which is said.
  await service.publish(plain)
  await service.promote(3)
  expect(service.notes.at(-1)).toContain(
    'so learning goes on where it is in topic observations; what was learned before is not in this version',
  )
  await service.learn(100)
  expect((await service.error(3))?.ratings ?? 0).toBeLessThanOrEqual(100)
  await service.stop()
})
