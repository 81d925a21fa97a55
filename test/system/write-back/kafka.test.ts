import { afterAll, beforeAll, expect, it } from 'vitest'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { KafkaBroker } from '../../services/kafka-broker.ts'
import { metric, servedRows, WriteBackFixture } from './fixture.ts'

let broker: KafkaBroker

beforeAll(async () => {
  broker = await KafkaBroker.start()
})

afterAll(async () => {
  await broker?.stop()
})

it('writes learned rows back on Kafka, and a fresh learner learns nothing twice', async () => {
  const all = [...generateRatings({ users: 120, items: 60, ratings: 4000, seed: 8, drift: 0.3 })]
  const table = ratingsTable(all.slice(0, 3000))
  const model = await trainAls(table, { factors: 4, iterations: 3, threads: 0 })
  const stream = all.slice(3000)
  await using fixture = await WriteBackFixture.start(model, { brokers: broker.bootstrap })
  const first = await fixture.learn('first', 200)
  await fixture.rate(stream)
  await fixture.untilLearned(first.job, stream.length)
  await fixture.untilWritten(first.job)
  const learned = await servedRows(first.job)
  await first.job.close()
  expect(await fixture.topicRows()).toEqual(learned)

  const second = await fixture.learn('second', 3_600_000)
  await fixture.untilLearned(second.job, stream.length)
  expect(await servedRows(second.job)).toEqual(learned)
  expect(await metric(second.job, 'ratingsLearned')).toBe(0)
  await second.job.close()
})
