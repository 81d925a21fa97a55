import { expect, it } from 'vitest'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { until } from '../../run/until.ts'
import { sharedKafka } from '../../services/lending/kafka.ts'
import { hasReadAll, metric, servedRows, TOPIC, WriteBackFixture } from './fixture.ts'

it('writes learned rows back on Kafka, and a fresh learner learns nothing twice', async () => {
  const all = [...generateRatings({ users: 120, items: 60, ratings: 4000, seed: 8, drift: 0.3 })]
  const table = ratingsTable(all.slice(0, 3000))
  const model = await trainAls(table, { factors: 4, iterations: 3, threads: 0 })
  const stream = all.slice(3000)
  await using broker = await sharedKafka()
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

it('deletes deltas that are written back on Kafka, while slots are killed, and loses and doubles nothing', async () => {
  const all = [...generateRatings({ users: 120, items: 60, ratings: 5000, seed: 9, drift: 0.3 })]
  const table = ratingsTable(all.slice(0, 3000))
  const model = await trainAls(table, { factors: 4, iterations: 3, threads: 0 })
  const stream = all.slice(3000)
  await using broker = await sharedKafka()
  await using fixture = await WriteBackFixture.start(model, { brokers: broker.bootstrap })
  const { job, writtenBack, warnings, kill } = await fixture.learn('first', 50, true)
  for (let sent = 0; sent < stream.length; sent += 1000) {
    await fixture.rate(stream.slice(sent, sent + 1000))
    const before = writtenBack.length
    await until('rows are written back', () => writtenBack.length > before)
    await kill((sent / 1000) % 2)
  }
  await until('all is read', () => hasReadAll(job, fixture.topics, TOPIC), { everyMs: 20 })
  await fixture.untilWritten(job)
  const learned = await servedRows(job)
  await job.close()
  expect(await fixture.topicRows()).toEqual(learned)
  expect(await fixture.firstDeltas()).toBeGreaterThan(0)
  expect((await fixture.deltas()).distinct).toBeLessThan(stream.length)
  expect(warnings.filter((text) => text.includes('deltas'))).toEqual([])

  // The same process continues from its checkpoint, another one from the rows.
  for (const process of ['first', 'second']) {
    const next = await fixture.learn(process, 3_600_000, true)
    await until('all is read', () => hasReadAll(next.job, fixture.topics, TOPIC), { everyMs: 20 })
    expect(await servedRows(next.job)).toEqual(learned)
    expect(await metric(next.job, 'ratingsLearned')).toBe(0)
    expect(next.warnings).toEqual([])
    await next.job.close()
  }
})
