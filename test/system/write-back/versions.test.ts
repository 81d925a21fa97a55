import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { openModelFile } from '../../../src/models/publish/file-io.ts'
import { exportVersion, importVersion } from '../../../src/models/publish/transfer.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { findVersion } from '../../../src/models/registry/version.ts'
import { ModelRegistry } from '../../../src/models/versions/model-registry.ts'
import { readyVersions } from '../../../src/models/versions/model-versions.ts'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { until } from '../../run/until.ts'
import { servedRows, TOPIC, WriteBackFixture } from './fixture.ts'

/** Longer than the test: rows are written back when the job ends. */
const AT_THE_END = 3_600_000

let model: AlsModel
let stream: Rating[]

beforeAll(async () => {
  const all = [...generateRatings({ users: 120, items: 60, ratings: 3600, seed: 8, drift: 0.3 })]
  const table = ratingsTable(all.slice(0, 3000))
  model = await trainAls(table, { factors: 4, iterations: 3, threads: 0 })
  stream = all.slice(3000)
})

function hex(vector: Float32Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('hex')
}

describe('rows that were written back', () => {
  it('are exported and imported elsewhere, without the offsets of the topics that they left', async () => {
    await using fixture = await WriteBackFixture.start(model)
    const { job } = await fixture.learn('first', AT_THE_END)
    await fixture.rate(stream)
    await fixture.untilLearned(job, stream.length)
    const learned = await servedRows(job)
    await job.close()

    const registryAt = (name: string) =>
      new ModelRegistry({
        place: { logDirectory: join(fixture.root, name) },
        clock: systemClock,
      })
    const state = await registryAt('registry-here').adopt(
      TOPIC,
      await readyVersions(fixture.topics, TOPIC),
    )
    const file = join(fixture.root, 'learned.weirmodel')
    await exportVersion(fixture.topics, findVersion(state, TOPIC, '1')!, file)
    const exported = new Map<string, string>()
    for await (const { key, vector } of (await openModelFile(file)).rows()) {
      exported.set(key, hex(vector))
    }
    expect(exported).toEqual(learned)

    await using other = await openTopics({ logDirectory: join(fixture.root, 'other') })
    const imported = { file, model: TOPIC, clock: systemClock }
    await importVersion(other, registryAt('registry-there'), imported)
    const [marker] = await readyVersions(other, TOPIC)
    expect(marker).toMatchObject({ version: 1 })
    expect(marker!.learned).toBeUndefined()
  })

  it('are those of each version, when another one goes live while a job learns', async () => {
    await using fixture = await WriteBackFixture.start(model)
    const { job, versions } = await fixture.learn('first', 50)
    const learnedUpTo = async (version: number): Promise<number | undefined> => {
      const markers = await readyVersions(fixture.topics, TOPIC)
      const marker = markers.find((each) => each.version === version)
      return marker?.learned?.next.reduce((sum, next) => sum + next, 0)
    }
    await fixture.rate(stream.slice(0, 300))
    await fixture.untilLearned(job, 300)
    // An earlier write-back has a part of the ratings alone.
    await until('version 1 is written back', async () => (await learnedUpTo(1)) === 300)
    await fixture.publish(model, 2)
    // It is live a little before the learners follow; they learn on version 1 until then.
    await until('every slot learns on version 2', () => versions.includes(2))
    await fixture.rate(stream.slice(300))
    await until('version 2 is written back', async () => {
      return (await learnedUpTo(2)) === stream.length
    })
    await job.close()
    expect(await learnedUpTo(1)).toBe(300)
    expect(await learnedUpTo(2)).toBe(stream.length)
  })
})
