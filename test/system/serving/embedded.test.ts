import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/index.ts'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { learnAls, serveAls, trainAls } from '../../../src/index.ts'
import { dataDirectory } from '../../../src/jobs/serve/data-directory.ts'
import { publishAls } from '../../../src/kinds/factors/publish.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'

const TOPIC = 'als-model'
const USERS = 40
const ITEMS = 20

let folder: string
let dataDir: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-embedded-'))
  dataDir = join(folder, 'data')
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Trains a model and publishes it as a version of the topic. */
async function publish(version: number): Promise<AlsModel> {
  const ratings = [...generateRatings({ users: USERS, items: ITEMS, ratings: 1500, seed: version })]
  const model = await trainAls(ratingsTable(ratings), { factors: 6, iterations: 3, threads: 0 })
  await using log = new LogTopics(dataDirectory(dataDir).log)
  await publishAls(model, { log, topic: TOPIC, version, metrics: {}, clock: systemClock })
  return model
}

describe('serveAls', () => {
  it('answers in the process what clients get over TCP, and follows the versions', async () => {
    const first = await publish(1)
    const live: number[] = []
    await using model = await serveAls({ dataDir, onLive: (version) => live.push(version) })
    expect(await model.whenLive()).toBe(1)
    await using client = await WeirClient.connect({ port: model.port, deadlineMs: 60_000 })
    for (const reader of [model.reader, client]) {
      const [row] = await reader.rows(model.state, ['3-U'])
      expect(row).toMatchObject({ ok: true, value: first.rowOf('U', '3') })
    }
    const query = { k: 5, suffix: '-I' }
    const [here, there] = await Promise.all(
      [model.reader, client].map((reader) => reader.topK(model.state, '3-U', query)),
    )
    expect(here).toMatchObject({ ok: true, envelope: { servedBy: 'local/0' } })
    expect(here).toMatchObject({ ok: true, value: there!.ok ? there!.value : undefined })
    const second = await publish(2)
    await expect.poll(() => live).toEqual([1, 2])
    const [row] = await model.reader.rows(model.state, ['3-U'])
    expect(row).toMatchObject({
      ok: true,
      value: second.rowOf('U', '3'),
      envelope: { modelVersion: 2 },
    })
  })

  it('rejects at once when no model was published', async () => {
    await expect(serveAls({ dataDir })).rejects.toMatchObject({ code: 'UNKNOWN_TOPIC' })
  })

  it('settles whenLive when it is closed before a version is live', async () => {
    await publish(1)
    const model = await serveAls({ dataDir })
    const live = model.whenLive().catch((error: { code: string }) => error.code)
    await model.close()
    expect([1, 'JOB_CANCELED']).toContain(await live)
  })
})

describe('learnAls', () => {
  it('learns from the observations that the process produces, and reads its writes', async () => {
    await publish(1)
    await using model = await learnAls({ dataDir, learning: { rule: { rule: 'sgd' } } })
    await model.whenLive()
    const before = await model.reader.predict(model.state, '3-U', '5-I')
    await using topics = new LogTopics(dataDirectory(dataDir).log)
    const producer = await topics.producer('observations')
    for (let i = 0; i < 30; i++)
      producer.sendRecord(null, Buffer.from('3,5,5'), systemClock.nowMs(), -1, [])
    await producer.sync()
    await producer.close()
    await expect
      .poll(async () => (await model.reader.predict(model.state, '3-U', '5-I')).score)
      .toBeGreaterThan(before.score + 0.1)
  })
})
