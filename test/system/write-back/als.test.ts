import { beforeAll, describe, expect, it } from 'vitest'
import { transactionOf } from '../../../src/jobs/learning/write-back/publish.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { readyVersions } from '../../../src/models/versions/model-versions.ts'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { until } from '../../run/until.ts'
import { metric, OBSERVATIONS, servedRows, TOPIC, WriteBackFixture } from './fixture.ts'

/** Longer than the test: rows are written back when the job ends. */
const AT_THE_END = 3_600_000

let model: AlsModel
let stream: Rating[]

beforeAll(async () => {
  const all = [...generateRatings({ users: 120, items: 60, ratings: 5000, seed: 8, drift: 0.3 })]
  const table = ratingsTable(all.slice(0, 3000))
  model = await trainAls(table, { factors: 4, iterations: 3, threads: 0 })
  stream = all.slice(3000)
})

describe('write-back', () => {
  it('puts learned rows into the topic, where a fresh process finds them', async () => {
    await using fixture = await WriteBackFixture.start(model)
    const trained = await fixture.topicRows()
    const { job, writtenBack } = await fixture.learn('first', AT_THE_END)
    await fixture.rate(stream)
    await fixture.untilLearned(job, stream.length)
    const learned = await servedRows(job)
    await job.close()
    expect(writtenBack).toHaveLength(1)
    const written = await fixture.topicRows()
    expect(written).not.toEqual(trained)
    expect(written).toEqual(learned)

    const [marker] = await readyVersions(fixture.topics, TOPIC)
    const bounds = await fixture.topics.bounds(OBSERVATIONS)
    expect(marker!.learned!.next).toEqual(bounds.map(({ end }) => end))

    await using serving = await fixture.serve('second')
    await until('the fresh job serves the learned rows', async () => {
      const served = await servedRows(serving)
      return [...learned].every(([key, value]) => served.get(key) === value)
    })
  })

  it('lets a learner without checkpoints continue from the rows: no rating is learned twice', async () => {
    await using fixture = await WriteBackFixture.start(model)
    const first = await fixture.learn('first', AT_THE_END)
    await fixture.rate(stream.slice(0, 1000))
    await fixture.untilLearned(first.job, 1000)
    await first.job.close()
    const written = await fixture.topicRows()

    const second = await fixture.learn('second', AT_THE_END)
    await fixture.rate(stream.slice(1000))
    await fixture.untilLearned(second.job, stream.length)
    expect((await fixture.deltas()).all).toBe(stream.length)
    expect(await metric(second.job, 'ratingsLearned')).toBe(stream.length - 1000)
    expect(await metric(second.job, 'deltasFolded')).toBe(stream.length - 1000)
    const learned = await servedRows(second.job)
    await second.job.close()
    expect(await fixture.topicRows()).toEqual(learned)
    const untouched = [...written].filter(([key, row]) => learned.get(key) === row)
    const changed = new Set(
      stream.slice(1000).flatMap(({ user, item }) => [`${user}-U`, `${item}-I`]),
    )
    expect(untouched.map(([key]) => key)).toEqual(
      [...written.keys()].filter((key) => !changed.has(key)),
    )
  })

  it('loses and doubles nothing when slots are killed while rows are written back', async () => {
    await using fixture = await WriteBackFixture.start(model)
    const { job, writtenBack, kill } = await fixture.learn('first', 50)
    for (let sent = 0; sent < stream.length; sent += 500) {
      await fixture.rate(stream.slice(sent, sent + 500))
      const before = writtenBack.length
      await until('rows are written back', () => writtenBack.length > before)
      await kill((sent / 500) % 2)
    }
    await fixture.untilLearned(job, stream.length)
    await fixture.untilWritten(job)
    const learned = await servedRows(job)
    await job.close()
    expect(await fixture.topicRows()).toEqual(learned)

    const second = await fixture.learn('second', AT_THE_END)
    await fixture.untilLearned(second.job, stream.length)
    expect(await servedRows(second.job)).toEqual(learned)
    expect(await metric(second.job, 'ratingsLearned')).toBe(0)
    await second.job.close()
  })

  it('replaces what a run wrote that was given up, without a further rating', async () => {
    await using fixture = await WriteBackFixture.start(model)
    const first = await fixture.learn('first', AT_THE_END)
    await fixture.rate(stream.slice(0, 500))
    await fixture.untilLearned(first.job, 500)
    const savepoint = await first.job.execution.triggerSavepoint()
    await fixture.rate(stream.slice(500))
    await fixture.untilLearned(first.job, stream.length)
    await first.job.close()
    const givenUp = await fixture.topicRows()

    const second = await fixture.learn('first', AT_THE_END, false, undefined, savepoint)
    await until('the last write-back is replaced', () => second.writtenBack.length > 0)
    await fixture.untilLearned(second.job, stream.length)
    const learned = await servedRows(second.job)
    await second.job.close()
    expect(await fixture.topicRows()).toEqual(learned)
    const differ = [...learned].filter(([key, row]) => givenUp.get(key) !== row).length
    console.info(`${differ} of ${learned.size} rows differ from those of the run that was given up`)
    // A run that continues from its own last checkpoint has nothing to write.
    const third = await fixture.learn('first', AT_THE_END)
    await third.job.close()
    expect(third.writtenBack).toEqual([])
  })

  it('is off without the option: a learner leaves the transactions of the topic alone', async () => {
    await using fixture = await WriteBackFixture.start(model)
    const transaction = await fixture.topics.producer(TOPIC, transactionOf(TOPIC))
    transaction.sendRecord(new TextEncoder().encode('1-U@9'), new Uint8Array(16), 0, 0, [])
    const { job, writtenBack } = await fixture.learn('first')
    await fixture.rate(stream.slice(0, 100))
    await fixture.untilLearned(job, 100)
    await job.close()
    await transaction.sync()
    await transaction.close()
    expect(writtenBack).toEqual([])
    expect([...(await fixture.topicRows()).keys()]).toContain('1-U@9')
  })
})
