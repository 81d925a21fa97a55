import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import type { TopicSourceOptions } from '../../../src/connectors/topics/store.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { publishModel } from '../../../src/models/publish/model.ts'
import { RETIRED_MARKERS } from '../../../src/models/registry/version-marker.ts'
import { retireVersions } from '../../../src/models/retention/retire-versions.ts'
import { readyVersions } from '../../../src/models/versions/model-versions.ts'
import type { Source } from '../../../src/operators/port/source.ts'

const TOPIC = 'als-model'
const KEPT = 2

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-retire-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Counts the records that are read from its topics. */
class CountingTopics extends LogTopics {
  read = 0

  override source<T>(options: TopicSourceOptions<T>): Source<T> {
    return super.source<T>({
      ...options,
      deserialize: (record, partition) => {
        this.read += 1
        return options.deserialize(record, partition)
      },
    })
  }
}

async function createTopic(): Promise<EmbeddedLog> {
  const log = await EmbeddedLog.open(folder, { fsync: 'none' })
  await log.createTopic(TOPIC, {
    ...{ partitions: 2, cleanupPolicy: 'compact', segmentBytes: 8 * 1024, deleteRetentionMs: -1 },
  })
  return log
}

const model = {
  ...{ dimension: 1, users: 1, items: 1 },
  *rows() {
    yield { id: '1', kind: 'U' as const, vector: Float32Array.of(1) }
    yield { id: '1', kind: 'I' as const, vector: Float32Array.of(1) }
  },
}
const facts = { name: 'ALS_MODEL', biased: false, globalMean: 0, hyperparameters: {}, metrics: {} }
const clock = systemClock

function publish(log: LogTopics, version?: number, overwrite = false): Promise<number> {
  return publishModel(model, { log, topic: TOPIC, facts, clock, version, overwrite })
}

/** Publishes versions and retires all but the last two, ten at a time, as the log is compacted. */
async function publishAndRetire(log: EmbeddedLog, topics: LogTopics, count: number): Promise<void> {
  const [newest] = (await readyVersions(topics, TOPIC)).slice(-1)
  const first = (newest?.version ?? 0) + 1
  for (let version = first; version < first + count; version++) {
    expect(await publish(topics)).toBe(version)
    if (version % 10 !== 0) continue
    const old = (await readyVersions(topics, TOPIC)).slice(0, -KEPT)
    const versions = old.map((marker) => marker.version)
    await retireVersions(topics, TOPIC, { versions, clock })
    await log.writer.clean()
  }
}

it('publishing and retiring a version reads as much after 220 versions as after 130', async () => {
  const log = await createTopic()
  await using topics = new CountingTopics(folder)
  await publishAndRetire(log, topics, 130)
  const before = topics.read
  await publishAndRetire(log, topics, 20)
  const early = topics.read - before
  await publishAndRetire(log, topics, 70)
  const later = topics.read
  await publishAndRetire(log, topics, 20)
  expect(topics.read - later).toBeLessThan(1.2 * early)
  expect(log.bounds(TOPIC, 0).logStart).toBeGreaterThan(0)
  await log.close()
})

it('versions that were retired long ago have no marker, and their numbers stay taken', async () => {
  const log = await createTopic()
  await using topics = new LogTopics(folder)
  await publishAndRetire(log, topics, RETIRED_MARKERS + 30)
  await expect(publish(topics, 5)).rejects.toMatchObject({ code: 'VERSION_EXISTS' })
  expect(await publish(topics)).toBe(RETIRED_MARKERS + 31)
  const kept = [RETIRED_MARKERS + 29, RETIRED_MARKERS + 30, RETIRED_MARKERS + 31]
  const ready = async (): Promise<number[]> =>
    (await readyVersions(topics, TOPIC)).map(({ version }) => version)
  expect(await ready()).toEqual(kept)

  // One of them is published again: later retirements do not take it for forgotten.
  await publish(topics, 5, true)
  await publishAndRetire(log, topics, 1)
  await retireVersions(topics, TOPIC, { versions: kept, clock })
  expect(await ready()).toEqual([5, RETIRED_MARKERS + 32])
  await expect(publish(topics, 6)).rejects.toMatchObject({ code: 'VERSION_EXISTS' })
  await log.close()
})
