import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import type { TopicsPlace } from '../../../src/connectors/topics/place.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { LoopClaim } from '../../../src/jobs/retrain/loop-claim.ts'
import { RetrainProcess } from '../../../src/jobs/retrain/process.ts'
import { retrain } from '../../../src/jobs/retrain/retrain.ts'
import { findVersion, versionsOf } from '../../../src/models/registry/version.ts'
import { ModelRegistry } from '../../../src/models/versions/model-registry.ts'
import { readyVersions } from '../../../src/models/versions/model-versions.ts'
import { RegistryWatch } from '../../../src/models/versions/watch.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { feedRatings } from '../../../src/training/evaluate/ratings-topic.ts'
import { registeredVersion } from '../../models/registry/registered-version.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'

let broker: SharedKafka
let place: TopicsPlace
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-registry-kafka-'))
  broker = await sharedKafka()
  place = { kafka: { brokers: broker.bootstrap } }
})

afterAll(async () => {
  await broker?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const registry = (): ModelRegistry => new ModelRegistry({ place, clock: systemClock })

describe('the model registry on Kafka', () => {
  it('has one retraining loop a model, from whatever folder it was started', async () => {
    const version = registeredVersion(1)
    await registry().require({ kind: 'register', version: { ...version, name: 'looped' } })
    const take = (data: string, isTakeOver = false): Promise<LoopClaim> =>
      LoopClaim.take({
        folder: join(folder, data),
        model: 'looped',
        isTakeOver,
        clock: systemClock,
        registry: registry(),
        onWarning: () => {},
      })
    const first = await take('a')
    await expect(take('b')).rejects.toMatchObject({ code: 'JOB_ALREADY_RUNNING' })
    await first.requireHeld()
    await first[Symbol.asyncDispose]()
    const second = await take('b')
    const third = await take('c', true)
    await third.requireHeld()
    const { models } = await registry().read()
    await second[Symbol.asyncDispose]()
    expect((await registry().read()).models.get('looped')?.retraining).toMatchObject({
      process: models.get('looped')!.retraining!.process,
    })
    await third[Symbol.asyncDispose]()
    expect((await registry().read()).models.get('looped')?.retraining).toBeUndefined()
  })

  it('fences writers: one of many commands wins, and a watch sees what it changed', async () => {
    const seen: number[] = []
    await using watch = new RegistryWatch({
      place,
      clock: systemClock,
      intervalMs: 50,
      onChange: (state) => seen.push(state.models.get('als-model')?.live ?? -1),
    })
    await watch.start()
    for (const number of [1, 2, 3]) {
      await registry().require({ kind: 'register', version: registeredVersion(number) })
    }
    const outcomes = await Promise.all(
      [1, 2, 3].map((number) =>
        registry().execute({
          kind: 'promote',
          name: 'als-model',
          number,
          expectedLive: 0,
          atMs: 1,
          force: 'race',
        }),
      ),
    )
    const kinds = outcomes.map(({ outcome }) => outcome.kind).sort()
    expect(kinds).toEqual(['changed', 'conflict', 'conflict'])
    const state = await registry().read()
    const live = versionsOf(state, 'als-model').filter((version) => version.state === 'live')
    expect(live).toHaveLength(1)
    await expect.poll(() => seen.at(-1)).toBe(live[0]!.number)
  })

  it('contains what a retraining on a topic of Kafka published', async () => {
    await using topics = await openTopics(place)
    const ratings = Array.from({ length: 400 }, (_, n) => ({
      user: `u${n % 19}`,
      item: `i${n % 13}`,
      rating: 1 + ((n * 7) % 5),
      timestamp: n * 1000,
    }))
    const fed = { topics, topic: 'ratings', feed: 'test', clock: systemClock }
    await feedRatings(ratingsTable(ratings), fed)
    const outcome = await retrain({
      place,
      registry: registry(),
      model: 'trained',
      observations: 'ratings',
      als: { factors: 4, iterations: 2, threads: 0 },
      rule: { rule: 'gram' },
      temporary: folder,
      start: () => new RetrainProcess(),
      newId: () => 'id',
      clock: systemClock,
    })
    expect(outcome).toMatchObject({ kind: 'candidate', version: { number: 1, users: 19 } })
    expect(await readyVersions(topics, 'trained')).toMatchObject([{ version: 1, items: 13 }])
    const known = findVersion(await registry().read(), 'trained', 'latest')
    expect(known?.lineage).toMatchObject({ newestEventMs: 399_000, metrics: { observations: 400 } })
  })
})
