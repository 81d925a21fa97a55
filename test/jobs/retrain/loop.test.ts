import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { systemClock } from '../../../src/core/clock.ts'
import type { LiveErrorWatch, WatchedError } from '../../../src/jobs/retrain/error-watch.ts'
import { RetrainLoop } from '../../../src/jobs/retrain/loop.ts'
import type { RetrainOptions } from '../../../src/jobs/retrain/options.ts'
import { retrain } from '../../../src/jobs/retrain/retrain.ts'
import { RetrainTrainer } from '../../../src/jobs/retrain/trainer.ts'
import { NO_ALARMS } from '../../../src/models/quality/drift-monitor.ts'
import type { RetrainFacts, RetrainPolicy } from '../../../src/models/registry/retrain-trigger.ts'
import { liveVersionOf } from '../../../src/models/registry/version.ts'
import { ModelRegistry } from '../../../src/models/versions/model-registry.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { feedRatings } from '../../../src/training/evaluate/ratings-topic.ts'

let folder: string
let topics: LogTopics
let ids = 0

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-loop-'))
  topics = new LogTopics(join(folder, 'log'))
  await feed(0, 200)
  const options = retrainOptions()
  await retrain(options)
  const command = {
    kind: 'promote',
    name: 'als-model',
    number: 1,
    expectedLive: 0,
    atMs: 1,
  } as const
  await options.registry.require({ ...command, force: 'the first version' })
})

afterEach(async () => {
  await topics[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

async function feed(from: number, to: number): Promise<void> {
  const ratings = Array.from({ length: to - from }, (_, i) => {
    const n = from + i
    return { user: `u${n % 17}`, item: `i${n % 11}`, rating: 1 + (n % 5), timestamp: n * 1000 }
  })
  const options = { topics, topic: 'ratings', feed: 'test', clock: systemClock }
  await feedRatings(ratingsTable(ratings), options)
}

const retrainOptions = (): RetrainOptions => ({
  place: { logDirectory: join(folder, 'log') },
  registry: new ModelRegistry({
    place: { logDirectory: join(folder, 'registry') },
    clock: systemClock,
  }),
  model: 'als-model',
  observations: 'ratings',
  als: { factors: 2, iterations: 1, threads: 0 },
  rule: { rule: 'gram' },
  temporary: join(folder, 'temporary'),
  start: () => {
    const trainer = new RetrainTrainer(() => {})
    return {
      ask: async (request) => (await trainer.answer(request)) as never,
      async [Symbol.asyncDispose]() {},
    }
  },
  newId: () => `id-${++ids}`,
  clock: systemClock,
})

/** Runs a loop over a watched error until `looks` looks; returns the facts and the number of trainings. */
async function run(policy: RetrainPolicy, watched: () => WatchedError, looks: number) {
  const facts: RetrainFacts[] = []
  let trainings = 0
  const done = Promise.withResolvers<void>()
  const loop = new RetrainLoop({
    ...retrainOptions(),
    policy,
    intervalMs: 5,
    error: { look: async () => watched() } as unknown as LiveErrorWatch,
    onLook: (seen) => {
      facts.push(seen)
      if (facts.length >= looks) done.resolve()
    },
    onOutcome: async () => {
      trainings++
      await feed(1000 * trainings, 1000 * trainings + 20)
    },
    onError: (error) => done.reject(error),
  })
  loop.start()
  await done.promise
  await loop.close()
  return { facts, trainings }
}

it('one alarm starts one training, also where its candidate is not promoted', async () => {
  await feed(200, 220)
  const alarm = { count: 1, lastMs: systemClock.nowMs() + 1 }
  const watched = { fadedMse: 1, startMse: 1, count: 500, alarms: { ...NO_ALARMS, adwin: alarm } }
  const { trainings, facts } = await run({ onDrift: true }, () => watched, 6)
  expect(trainings).toBe(1)
  expect(facts.map(({ error }) => error?.driftAlarms)).toEqual([1, 0, 0, 0, 0, 0])
  // A loop that starts later does not answer it again.
  const later = await run({ onDrift: true }, () => watched, 2)
  expect(later.trainings).toBe(0)
})

it('a rise is measured from the error at go-live, which the registry keeps for later loops', async () => {
  await feed(200, 220)
  const calm = { fadedMse: 0.5, startMse: 0.48, count: 2000, alarms: NO_ALARMS }
  expect((await run({ errorRise: 0.5 }, () => calm, 2)).trainings).toBe(0)
  const state = await retrainOptions().registry.read()
  expect(liveVersionOf(state, 'als-model')?.errorAtStart).toBe(0.48)
  const risen = { fadedMse: 3.39, startMse: Number.NaN, count: 2000, alarms: NO_ALARMS }
  expect((await run({ errorRise: 0.5 }, () => risen, 1)).facts[0]?.error?.atStart).toBe(0.48)
  expect((await run({ errorRise: 0.5 }, () => risen, 2)).trainings).toBeGreaterThan(0)
})

it('a rollback holds the loop until a person promotes a version, and the rows that were left stay', async () => {
  const { registry } = retrainOptions()
  await feed(200, 220)
  await retrain(retrainOptions())
  const name = 'als-model'
  const promote = { kind: 'promote', name, number: 2, expectedLive: 1, atMs: 2 } as const
  await registry.require({ ...promote, force: 'a test' })
  const back = { kind: 'rollback', name, expectedLive: 2, atMs: 3, reason: 'a test' } as const
  await registry.require(back)
  await feed(220, 260)
  const quiet = { fadedMse: 0.5, startMse: 0.5, count: 500, alarms: NO_ALARMS }
  const held = await run({ count: 1 }, () => quiet, 4)
  expect(held.trainings).toBe(0)
  expect(held.facts.map(({ isRolledBack }) => isRolledBack)).toEqual([true, true, true, true])
  const { versions } = await registry.read()
  expect(versions.get(name)?.get(2)?.state).toBe('replaced')
  await registry.require({ ...promote, atMs: 4, force: 'it was right' })
  expect((await run({ count: 1 }, () => quiet, 2)).trainings).toBeGreaterThan(0)
})
