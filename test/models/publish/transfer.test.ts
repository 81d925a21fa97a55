import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { putRows } from '../../../src/jobs/retrain/put-rows.ts'
import { openModelFile } from '../../../src/models/publish/file-io.ts'
import { publishModel } from '../../../src/models/publish/model.ts'
import { exportVersion, importVersion } from '../../../src/models/publish/transfer.ts'
import type { LearnedPart } from '../../../src/models/registry/learned-part.ts'
import { findVersion, type RegisteredVersion } from '../../../src/models/registry/version.ts'
import { retireVersions } from '../../../src/models/retention/retire-versions.ts'
import { ModelRegistry } from '../../../src/models/versions/model-registry.ts'
import { readyVersions } from '../../../src/models/versions/model-versions.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-transfer-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

const registryAt = (name: string): ModelRegistry =>
  new ModelRegistry({ place: { logDirectory: join(folder, name) }, clock: systemClock })

async function publish(
  topics: LogTopics,
  version: number,
  more: { readonly learned?: LearnedPart } = {},
): Promise<void> {
  const model = {
    dimension: 2,
    users: 1,
    items: 2,
    *rows() {
      const memory = Float32Array.of(0.5, 1)
      yield { id: 'a', kind: 'U' as const, vector: Float32Array.of(version, 1), ratings: 5, memory }
      yield { id: 'x', kind: 'I' as const, vector: Float32Array.of(version, 2), ratings: 3 }
      yield { id: 'y', kind: 'I' as const, vector: Float32Array.of(version, 3) }
    },
  }
  const facts = {
    name: 'ALS_MODEL',
    biased: false,
    globalMean: 3,
    hyperparameters: {},
    metrics: {},
    ...more,
  }
  const options = { log: topics, topic: 'als-model', version, facts, clock: systemClock }
  await publishModel(model, options)
}

async function published(topics: LogTopics, registry: ModelRegistry): Promise<RegisteredVersion> {
  await publish(topics, 1)
  await publish(topics, 2)
  const memory = Float32Array.of(1, 0.25)
  const rows = [{ key: 'x-I', vector: Float32Array.of(9, 9), ratings: 4, memory }]
  await putRows(topics, 'als-model', { version: 1, rows, clock: systemClock })
  const state = await registry.adopt('als-model', await readyVersions(topics, 'als-model'))
  return findVersion(state, 'als-model', '1')!
}

async function rowsIn(file: string): Promise<Record<string, number[]>> {
  const rows: Record<string, number[]> = {}
  for await (const { key, vector } of (await openModelFile(file)).rows()) rows[key] = [...vector]
  return rows
}

async function ratingsIn(file: string): Promise<Record<string, number | undefined>> {
  const counts: Record<string, number | undefined> = {}
  for await (const { key, ratings } of (await openModelFile(file)).rows()) counts[key] = ratings
  return counts
}

async function variancesIn(file: string): Promise<Record<string, number[] | undefined>> {
  const variances: Record<string, number[] | undefined> = {}
  for await (const { key, memory } of (await openModelFile(file)).rows()) {
    variances[key] = memory && [...memory]
  }
  return variances
}

describe('export and import of a version', () => {
  it('keep the last rows of the version with their ratings, its lineage and its id', async () => {
    await using topics = new LogTopics(join(folder, 'log'))
    const version = await published(topics, registryAt('registry'))
    const file = join(folder, 'version.weirmodel')
    expect(await exportVersion(topics, version, file)).toBe(3)
    expect(await rowsIn(file)).toEqual({ 'a-U': [1, 1], 'x-I': [9, 9], 'y-I': [1, 3] })

    await using other = new LogTopics(join(folder, 'other-log'))
    const registry = registryAt('other-registry')
    const options = { file, model: 'copied', clock: systemClock }
    const imported = await importVersion(other, registry, options)
    expect(imported).toMatchObject({
      kind: 'imported',
      rows: 3,
      version: { id: version.id, name: 'copied', number: 1, state: 'candidate' },
    })
    expect(await importVersion(other, registry, options)).toMatchObject({ kind: 'exists' })
    const again = join(folder, 'again.weirmodel')
    await exportVersion(other, imported.version, again)
    expect(await rowsIn(again)).toEqual(await rowsIn(file))
    expect(await ratingsIn(file)).toEqual({ 'a-U': 5, 'x-I': 4, 'y-I': undefined })
    expect(await ratingsIn(again)).toEqual(await ratingsIn(file))
    expect(await variancesIn(file)).toEqual({ 'a-U': [0.5, 1], 'x-I': [1, 0.25], 'y-I': undefined })
    expect(await variancesIn(again)).toEqual(await variancesIn(file))
  })

  it('leave out what was learned online, whose offsets belong to other topics', async () => {
    await using topics = new LogTopics(join(folder, 'log'))
    const learned = { atMs: 5, observations: 'ratings', next: [7], folded: 'AQMA' }
    await publish(topics, 1, { learned })
    const markers = await readyVersions(topics, 'als-model')
    expect(markers[0]?.learned).toEqual(learned)
    const state = await registryAt('registry').adopt('als-model', markers)
    const file = join(folder, 'learned.weirmodel')
    await exportVersion(topics, findVersion(state, 'als-model', '1')!, file)

    await using other = new LogTopics(join(folder, 'other-log'))
    const options = { file, model: 'copied', clock: systemClock }
    await importVersion(other, registryAt('other-registry'), options)
    const [imported] = await readyVersions(other, 'copied')
    expect(imported).toMatchObject({ version: 1, globalMean: 3 })
    expect(imported).not.toHaveProperty('learned')
  })

  it('refuse a version whose rows were retired', async () => {
    await using topics = new LogTopics(join(folder, 'log'))
    const version = await published(topics, registryAt('registry'))
    expect(await retireVersions(topics, 'als-model', { versions: [1], clock: systemClock })).toBe(3)
    await expect(exportVersion(topics, version, join(folder, 'gone'))).rejects.toMatchObject({
      code: 'UNKNOWN_VERSION',
    })
    const ready = await readyVersions(topics, 'als-model')
    expect(ready.map((marker) => marker.version)).toEqual([2])
  })
})
