import { beforeAll, describe, expect, it } from 'vitest'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { until } from '../../run/until.ts'
import { OBSERVATIONS, servedRows, WriteBackFixture } from './fixture.ts'

let model: AlsModel

beforeAll(async () => {
  const ratings = [...generateRatings({ users: 120, items: 60, ratings: 3000, seed: 8 })]
  model = await trainAls(ratingsTable(ratings), { factors: 4, iterations: 3, threads: 0 })
})

describe('a marker whose text of folded deltas is damaged', () => {
  it('keeps the learner from learning on the version, and the next version is learned on', async () => {
    await using fixture = await WriteBackFixture.start(model)
    const learned = { atMs: 1, observations: OBSERVATIONS, next: [0, 0, 0], folded: 'AXh4eHh4' }
    await fixture.writeLearned(1, learned)
    const { job, warnings, learning } = await fixture.startLearning('first', 3_600_000)
    await until('the learner warns', () => warnings.length > 0)
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatch(
      /^learning does not begin on version 1 \(MALFORMED_DATA: .*rollback/,
    )
    expect((await servedRows(job)).size).toBeGreaterThan(0)
    await fixture.publish(model, 2)
    await learning
    await job.close()
  })
})
