import { beforeAll, describe, expect, it } from 'vitest'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import { readyVersions } from '../../../src/models/versions/model-versions.ts'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { until } from '../../run/until.ts'
import { servedRows, TOPIC, WriteBackFixture } from './fixture.ts'

let model: AlsModel

beforeAll(async () => {
  const ratings = [...generateRatings({ users: 120, items: 60, ratings: 3000, seed: 8 })]
  model = await trainAls(ratingsTable(ratings), { factors: 4, iterations: 3, threads: 0 })
})

describe('a process that is killed in the middle of a write-back', () => {
  it('leaves nothing that a learner without write-back or a reader waits for', async () => {
    await using fixture = await WriteBackFixture.start(model)
    const before = await fixture.topicRows()
    await fixture.killWriteBack()
    const { job } = await fixture.learn('second')
    await fixture.publish(model, 2)
    await until('readers see the next version', async () => {
      return (await readyVersions(fixture.topics, TOPIC)).some(({ version }) => version === 2)
    })
    const published = await fixture.topicRows()
    expect([...before].filter(([key, row]) => published.get(key) !== row)).toEqual([])
    await job.close()
  })

  it('leaves nothing that a serving job waits for, when no other process writes', async () => {
    await using fixture = await WriteBackFixture.start(model)
    await fixture.closeLog()
    await fixture.killWriteBack(async () => {
      await fixture.publish(model, 2)
      await fixture.closeLog()
    })
    await using job = await fixture.serve('second', 2)
    expect((await servedRows(job)).size).toBeGreaterThan(0)
  })
})
