import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { generateRatings } from '../../src/models/ratings/generator.ts'
import { trainAls } from '../../src/training/als/train.ts'
import { ratingsTable } from '../../src/training/data/ratings-table.ts'
import { campaignSize } from '../run/campaign-size.ts'
import { until } from '../run/until.ts'
import { LearningFixture } from './online-fixture.ts'

/** All but the newest two are retired. */
const VERSIONS = campaignSize(4, 6)
const WAIT = { interval: 50 }

it('frees the memory of all retired versions, including rows that were only learned', async () => {
  const root = mkdtempSync(join(tmpdir(), 'weir-retired-'))
  const ratings = [...generateRatings({ users: 3000, items: 500, ratings: 20_000, seed: 3 })]
  const model = await trainAls(ratingsTable(ratings), { factors: 8, iterations: 1, threads: 0 })
  await using fixture = await LearningFixture.start({
    root,
    model,
    rule: { rule: 'gram' },
    parallelism: 2,
    checkpointInterval: '100 ms',
  })
  const bytes: number[] = []
  for (let version = 1; version <= VERSIONS; version++) {
    if (version > 1) await fixture.publish(model, version)
    // Users that are in no training data have no row in the topic.
    const rated = Array.from({ length: 100 }, (_, i) => `new${version}-${i}`)
    const learnedOn = async (): Promise<number> => {
      await fixture.rate(rated.map((user) => ({ user, item: '1', rating: 3, timestamp: 1 })))
      return await fixture.metric('learningVersion')
    }
    await expect.poll(learnedOn, WAIT).toBe(2 * version)
    if (version > 2) await fixture.retire([version - 2])
    const kept = version === 1 ? [1] : [version - 1, version]
    await expect.poll(() => fixture.openVersions(), WAIT).toEqual(kept)
    const rowTableBytes = () => fixture.metric('rowTableBytes')
    // A table can be larger for a moment: it is full of the retired version until it is copied.
    if (version > 2) await expect.poll(rowTableBytes, WAIT).toBeLessThan(1.2 * bytes[1]!)
    bytes.push(await rowTableBytes())
  }
  console.info(`bytes of row tables after each version: ${bytes.join(', ')}`)
  await fixture.job.triggerCheckpoint()
  const failures = fixture.job.failures.length
  fixture.job.killSlot(0)
  await until('the slot is lost', () => fixture.job.failures.length > failures)
  await fixture.job.waitFor('RUNNING')
  await expect.poll(() => fixture.openVersions(), WAIT).toEqual([VERSIONS - 1, VERSIONS])
  rmSync(root, { recursive: true, force: true })
})
