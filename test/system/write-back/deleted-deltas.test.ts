import { beforeAll, describe, expect, it } from 'vitest'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { until } from '../../run/until.ts'
import { hasReadAll, metric, servedRows, TOPIC, WriteBackFixture } from './fixture.ts'

const AT_THE_END = 3_600_000

let model: AlsModel
let stream: Rating[]

beforeAll(async () => {
  const all = [...generateRatings({ users: 120, items: 60, ratings: 5000, seed: 8, drift: 0.3 })]
  model = await trainAls(ratingsTable(all.slice(0, 3000)), {
    factors: 4,
    iterations: 3,
    threads: 0,
  })
  stream = all.slice(3000)
})

/** A fixture whose topic of deltas has segments of some hundred deltas. */
const started = (): Promise<WriteBackFixture> => WriteBackFixture.start(model, undefined, 16_384)

describe('deltas that are written back', () => {
  it('are deleted, and slots that are killed meanwhile lose and double nothing', async () => {
    await using fixture = await started()
    const { job, writtenBack, warnings, kill } = await fixture.learn('first', 50, true)
    let deleted = 0
    for (let sent = 0; sent < stream.length; sent += 250) {
      await fixture.rate(stream.slice(sent, sent + 250))
      const before = writtenBack.length
      await until('rows are written back', () => writtenBack.length > before)
      await kill((sent / 250) % 2)
      deleted = Math.max(deleted, await fixture.firstDeltas())
    }
    await until('all is read', () => hasReadAll(job, fixture.topics, TOPIC), { everyMs: 20 })
    await fixture.untilWritten(job)
    const learned = await servedRows(job)
    await job.close()
    expect(deleted).toBeGreaterThan(0)
    expect(await fixture.topicRows()).toEqual(learned)

    // The same process continues from its checkpoint, another one from the rows.
    for (const process of ['first', 'second']) {
      const next = await fixture.learn(process, AT_THE_END, true)
      await until('all is read', () => hasReadAll(next.job, fixture.topics, TOPIC), { everyMs: 20 })
      expect(await servedRows(next.job)).toEqual(learned)
      expect(await metric(next.job, 'ratingsLearned')).toBe(0)
      expect(next.warnings).toEqual([])
      await next.job.close()
    }
    expect(warnings.filter((text) => text.includes('deltas'))).toEqual([])
  })

  it('stay until the job has read the marker of the write-back', async () => {
    await using fixture = await started()
    const { job } = await fixture.learn('first', AT_THE_END, true)
    await fixture.rate(stream)
    await fixture.untilLearned(job, stream.length)
    await job.close()
    // The only write-back was at the end.
    expect(await fixture.firstDeltas()).toBe(0)
  })
})
