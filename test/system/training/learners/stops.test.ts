import { beforeAll, expect, it } from 'vitest'
import type { RatingError } from '../../../../src/jobs/learning/error/rating-error.ts'
import type { AlsModel } from '../../../../src/training/als/solver/model.ts'
import { trainAls } from '../../../../src/training/als/train.ts'
import { ratingsTable } from '../../../../src/training/data/ratings-table.ts'
import { until } from '../../../run/until.ts'
import { LearningService, TRAINED_RATINGS } from './learning-service.ts'

let model: AlsModel

beforeAll(async () => {
  const table = ratingsTable(TRAINED_RATINGS)
  model = await trainAls(table, { factors: 4, biases: true, threads: 0 })
})

/** A rate at which the rows diverge. */
const DIVERGING = { rule: 'sgd', learningRate: 1 } as const

/** Checks that every published row is served as it was published. */
async function expectPublished(service: LearningService): Promise<void> {
  const published = await service.topicRows(1)
  const rows = await service.rows()
  for (const [key, row] of published) expect(rows.get(key), key).toEqual(row)
}

it('learning that makes predictions worse stops, and the version is served as it was published until it is resumed', async () => {
  const service = new LearningService()
  await service.publish(model)
  await service.start(DIVERGING)
  const trained = await service.rmse()
  await service.produce(2000)
  await until(
    () => `learning is stopped; warnings ${JSON.stringify(service.warnings)}`,
    () => service.stopsSaid() > 0,
  )
  console.info(service.warnings)
  expect(service.warnings[0]).toMatch(
    /what was learned on version 1 makes its predictions certainly worse \(mean squared error .*, without learning .*\), so learning stops/,
  )
  await expectPublished(service)
  let error: RatingError | undefined
  await until('LEARNING_ERROR says so, of all ratings', async () => {
    error = await service.error()
    return error?.isStopped === true && error.ratings === 2000
  })
  // The predictions that were served are in it: they are not clipped.
  expect(error!.mse).toBeGreaterThan(error!.frozenMse)
  await service.stop()

  // It stays so with another number of slots, whatever the rule is.
  await service.start({ rule: 'gram' }, { slots: 3 })
  await expectPublished(service)
  await service.produce(100)
  await until('the ratings are predicted', async () => (await service.error())?.ratings === 2100)
  await expectPublished(service)

  await service.resume()
  await service.learn(500)
  expect(await service.rmse()).toBeLessThan(trained + 0.03)
  await until('LEARNING_ERROR says so', async () => (await service.error())?.isStopped === false)
  await expect(expectPublished(service)).rejects.toThrow()
  await service.stop()
})

it('a job that is never to stop learns on, and says in LEARNING_ERROR what it serves', async () => {
  const service = new LearningService()
  await service.publish(model)
  await service.start(DIVERGING, { neverStop: true })
  await service.learn(2000)
  await until('all are in the error', async () => (await service.error())?.ratings === 2000)
  const error = await service.error()
  console.info({ mse: error!.mse, fadedMse: error!.fadedMse, frozenMse: error!.frozenMse })
  // Clipped to 1 to 5, no prediction is off by more than 4.
  expect(error!.fadedMse).toBeGreaterThan(16)
  expect(error!.isStopped).toBe(false)
  expect(service.warnings).toEqual([])
  await service.stop()
})
