import { expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { dataDirectory } from '../../../src/jobs/serve/data-directory.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import { ModelRegistry } from '../../../src/models/versions/model-registry.ts'
import { readyVersions } from '../../../src/models/versions/model-versions.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { until } from '../../run/until.ts'
import { hasReadAll, metric, servedRows, TOPIC, WriteBackFixture } from './fixture.ts'

/** Ratings of each topic. */
const RATINGS = 600

it('deltas of another topic are not taken for those of the topic that is learned, now or at a later start', async () => {
  const all = [...generateRatings({ users: 80, items: 40, ratings: 3000, seed: 8, drift: 0.3 })]
  const model = await trainAls(ratingsTable(all.slice(0, 1500)), {
    ...{ factors: 4, iterations: 3, threads: 0 },
  })
  const stream = all.slice(1500)
  await using fixture = await WriteBackFixture.start(model)
  const place = { logDirectory: dataDirectory(fixture.root).registry }
  const registry = new ModelRegistry({ place, clock: systemClock })
  await registry.adopt(TOPIC, await readyVersions(fixture.topics, TOPIC))
  const trained = await fixture.topicRows()

  const first = await fixture.learn('first')
  await fixture.rate(stream.slice(0, RATINGS))
  await fixture.untilLearned(first.job, RATINGS)
  expect(first.warnings).toEqual([])
  await first.job.close()

  // Without the checkpoints of the first job: 'second' and 'third' are folders of their own.
  const others = stream.slice(RATINGS, 2 * RATINGS)
  await fixture.topics.create('others', { partitions: 3 })
  const touched = new Set(others.flatMap(({ user, item }) => [`${user}-U`, `${item}-I`]))
  for (const process of ['second', 'third']) {
    const { job, warnings } = await fixture.learn(process, undefined, false, 'others')
    if (process === 'second') await fixture.rate(others, 'others')
    await until(`${process} has learned`, () => hasReadAll(job, fixture.topics, TOPIC, 'others'), {
      everyMs: 20,
    })
    expect(await metric(job, 'ratingsLearned')).toBe(RATINGS)
    expect(await metric(job, 'deltasFolded')).toBe(RATINGS)
    const rows = await servedRows(job)
    for (const [key, row] of trained) {
      if (!touched.has(key)) expect([key, rows.get(key)]).toEqual([key, row])
    }
    expect(warnings).toEqual(
      process === 'second'
        ? [expect.stringContaining('was learned from another topic before (observations)')]
        : [],
    )
    await job.close()
  }
})
