import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { type Cancel, systemClock } from '../../../src/core/clock.ts'
import { isWeirError } from '../../../src/core/errors.ts'
import { storedCheck } from '../../../src/models/registry/checks/promotion-verdict.ts'
import { RETIRED_VERSIONS } from '../../../src/models/registry/forgotten-versions.ts'
import { versionRecord } from '../../../src/models/registry/format.ts'
import { liveVersionOf, versionsOf } from '../../../src/models/registry/version.ts'
import { ModelRegistry, REGISTRY_TOPIC } from '../../../src/models/versions/model-registry.ts'
import { RegistryWatch } from '../../../src/models/versions/watch.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { until } from '../../run/until.ts'
import { registeredVersion } from '../registry/registered-version.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-registry-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

const registry = (): ModelRegistry =>
  new ModelRegistry({ place: { logDirectory: join(folder, 'registry') }, clock: systemClock })

const register = (number: number) =>
  ({ kind: 'register', version: registeredVersion(number) }) as const
const promote = (number: number, expectedLive: number, force?: string) =>
  ({
    kind: 'promote',
    name: 'als-model',
    number,
    expectedLive,
    atMs: 1,
    ...(force === undefined ? {} : { force }),
  }) as const

describe('the model registry on a topic', () => {
  it('is empty before the first command and stores the changes of commands', async () => {
    expect((await registry().read()).models.size).toBe(0)
    await registry().require(register(1))
    await registry().require(promote(1, 0, 'first'))
    const state = await registry().read()
    expect(liveVersionOf(state, 'als-model')).toEqual({
      ...registeredVersion(1),
      state: 'live',
      notes: [{ atMs: 1, event: 'forced', text: 'first' }],
    })
  })

  it('forgets the versions that were retired long ago', async () => {
    await registry().require(register(1))
    await using topics = new LogTopics(join(folder, 'registry'))
    const producer = await topics.producer(REGISTRY_TOPIC, 'test')
    for (let number = 2; number <= RETIRED_VERSIONS + 3; number++) {
      const version = { ...registeredVersion(number), state: 'retired' } as const
      const { key, value } = versionRecord(version)
      producer.sendRecord(new TextEncoder().encode(key), value, 1, 0, [])
    }
    await producer.sync()
    await producer.close()
    const { state } = await registry().require(register(RETIRED_VERSIONS + 4))
    const kept = versionsOf(state, 'als-model').map(({ number }) => number)
    expect(kept.slice(0, 2)).toEqual([1, 4])
    expect(versionsOf(await registry().read(), 'als-model').map(({ number }) => number)).toEqual(
      kept,
    )
  })

  it('refuses a promotion with a typed error that has the failed check and the values', async () => {
    const measure = { name: 'RMSE', value: 2, bound: 1, relation: '<=', passed: false } as const
    const facts = { atMs: 1, against: 0, subject: 'golden' }
    await registry().require(register(1))
    await registry().require({
      kind: 'record-checks',
      name: 'als-model',
      number: 1,
      checks: [
        storedCheck('data', [], facts),
        storedCheck('quality', [measure], facts),
        storedCheck('serving', [], facts),
      ],
    })
    const refused = await registry()
      .require(promote(1, 0))
      .catch((error: unknown) => error)
    expect(isWeirError(refused, 'PROMOTION_REFUSED')).toBe(true)
    expect(refused).toMatchObject({
      details: { check: 'quality', measure: 'RMSE', value: 2, bound: 1 },
    })
  })

  it('lets one of many commands that expect the same live version succeed', async () => {
    for (const number of [1, 2, 3, 4]) await registry().require(register(number))
    const outcomes = await Promise.all(
      [1, 2, 3, 4].map((number) => registry().execute(promote(number, 0, 'race'))),
    )
    const kinds = outcomes.map(({ outcome }) => outcome.kind).sort()
    expect(kinds).toEqual(['changed', 'conflict', 'conflict', 'conflict'])
    const state = await registry().read()
    expect(
      versionsOf(state, 'als-model').filter((version) => version.state === 'live'),
    ).toHaveLength(1)
  })

  it('adopts versions that were published without it, once', async () => {
    const marker = {
      event: 'ready',
      version: 3,
      name: 'ALS_MODEL',
      dimension: 4,
      biased: true,
      users: 1,
      items: 1,
      globalMean: 3,
      hyperparameters: {},
      metrics: {},
    } as const
    const candidate = { ...marker, version: 4, hyperparameters: { candidate: true } }
    const state = await registry().adopt('als-model', [marker, candidate])
    expect(liveVersionOf(state, 'als-model')?.number).toBe(3)
    const again = await registry().adopt('als-model', [marker, candidate])
    expect(versionsOf(again, 'als-model').map(({ number }) => number)).toEqual([3, 4])
  })

  it('is followed by a watch, which needs no lock', async () => {
    const seen: number[] = []
    await using watch = new RegistryWatch({
      place: { logDirectory: join(folder, 'registry') },
      clock: systemClock,
      intervalMs: 5,
      onChange: (state) => seen.push(state.models.get('als-model')?.live ?? -1),
    })
    await watch.start()
    expect(seen).toEqual([])
    await registry().require(register(1))
    await registry().require(promote(1, 0, 'x'))
    await expect.poll(() => seen.at(-1)).toBe(1)
  })

  it('is followed by file change events with few looks, also before its folder exists', async () => {
    let looks = 0
    const clock = new (class extends ManualClock {
      override after(delayMs: number, callback: () => void): Cancel {
        looks += 1
        return super.after(delayMs, callback)
      }
    })()
    /** Lets the time pass in small steps; each look comes to its end. */
    const passes = async (ms: number): Promise<void> => {
      for (const endMs = clock.nowMs() + ms; clock.nowMs() < endMs; clock.advance(10)) {
        await until('the watch waits', () => clock.pending === 1)
      }
    }
    const seen: number[] = []
    await using watch = new RegistryWatch({
      place: { logDirectory: join(folder, 'deep', 'registry') },
      clock,
      onChange: (state) => seen.push(state.models.get('als-model')?.live ?? -1),
    })
    await watch.start()
    await passes(500)
    expect(looks).toBeLessThan(12)
    const other = new ModelRegistry({
      place: { logDirectory: join(folder, 'deep', 'registry') },
      clock: systemClock,
    })
    await other.require(register(1))
    await other.require(promote(1, 0, 'x'))
    const live = (): number | undefined => {
      clock.advance(10)
      return seen.at(-1)
    }
    await expect.poll(live).toBe(1)
  })
})
