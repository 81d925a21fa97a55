import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/index.ts'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { LiveErrorWatch } from '../../../src/jobs/retrain/error-watch.ts'
import { RetrainLoop } from '../../../src/jobs/retrain/loop.ts'
import type { RetrainOptions, RetrainOutcome } from '../../../src/jobs/retrain/options.ts'
import { RetrainProcess } from '../../../src/jobs/retrain/process.ts'
import { retrain } from '../../../src/jobs/retrain/retrain.ts'
import { type DataDirectory, dataDirectory } from '../../../src/jobs/serve/data-directory.ts'
import { learnAlsJob } from '../../../src/jobs/serve/learning-als.ts'
import type { ServedJob } from '../../../src/jobs/served-job.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import type { RetrainTrigger } from '../../../src/models/registry/retrain-trigger.ts'
import { findVersion, liveVersionOf } from '../../../src/models/registry/version.ts'
import { ModelRegistry } from '../../../src/models/versions/model-registry.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { feedRatings } from '../../../src/training/evaluate/ratings-topic.ts'
import { pause } from '../../run/pause.ts'

const MODEL = 'als-model'
const OBSERVATIONS = 'ratings'
const USERS = 80
const ITEMS = 40

const random = seededRandom(11)
const tastes = Array.from({ length: USERS }, () => random.normal())
const kinds = Array.from({ length: ITEMS }, () => random.normal())
let seconds = 1_600_000_000

/** Ratings of one world or, after the drift, of another one in which tastes are reversed. */
function ratings(count: number, isDrifted: boolean): Rating[] {
  return Array.from({ length: count }, () => {
    const user = random.below(USERS)
    const item = random.below(ITEMS)
    const taste = tastes[user]! * kinds[item]! * (isDrifted ? -1 : 1)
    const rating = Math.max(1, Math.min(5, 3 + taste + 0.2 * random.normal()))
    seconds += 1
    return { user: `u${user}`, item: `i${item}`, rating, timestamp: seconds * 1000 }
  })
}

let folder: string
let data: DataDirectory
let registry: ModelRegistry
let topics: LogTopics
let job: ServedJob
let client: WeirClient

type RetrainAlsLoop = Extract<RetrainOptions, { als: unknown }>

function feed(count: number, isDrifted: boolean): Promise<void> {
  const options = { topics, topic: OBSERVATIONS, feed: 'test', clock: systemClock }
  return feedRatings(ratingsTable(ratings(count, isDrifted)), options)
}

function options(more: Partial<RetrainAlsLoop> = {}): RetrainOptions {
  return {
    place: { logDirectory: data.log },
    registry,
    model: MODEL,
    observations: OBSERVATIONS,
    als: { factors: 4, iterations: 4, threads: 0 },
    rule: { rule: 'gram' },
    temporary: join(folder, 'temporary'),
    start: () => new RetrainProcess(),
    newId: () => crypto.randomUUID(),
    clock: systemClock,
    ...more,
  }
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-retrain-'))
  data = dataDirectory(join(folder, 'data'))
  registry = new ModelRegistry({
    place: { logDirectory: join(data.root, 'registry') },
    clock: systemClock,
  })
  topics = new LogTopics(data.log)
  await feed(6000, false)
  const first = await retrain(options())
  expect(first).toMatchObject({ kind: 'candidate', version: { number: 1 } })
  await registry.require({
    kind: 'promote',
    name: MODEL,
    number: 1,
    expectedLive: 0,
    atMs: 1,
    force: 'the first version',
  })
  const live = Promise.withResolvers<void>()
  job = await learnAlsJob({
    data,
    topic: MODEL,
    slots: 2,
    queryThreads: 1,
    port: 0,
    configuration: {},
    job: { observations: OBSERVATIONS },
    onLive: () => {},
    onLearning: () => live.resolve(),
  })
  job.execution.onStatus(({ to }) => {
    const failure = job.execution.failures.at(-1)
    if (to === 'RESTARTING')
      console.info(`restart: ${failure?.error.stack} ${String(failure?.error.cause)}`)
  })
  await live.promise
  client = await WeirClient.connect({ port: job.port, deadlineMs: 60_000 })
})

afterAll(async () => {
  await client?.close()
  await job?.close()
  await topics?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

describe('the retrain loop on the embedded log', () => {
  it('detects a drift, trains while learning and serving continue, and makes the candidate live', async () => {
    const golden = { ratings: ratingsTable(ratings(600, true)), subject: 'drifted' }
    const outcomes: [RetrainTrigger, RetrainOutcome][] = []
    const done = Promise.withResolvers<void>()
    const error = new LiveErrorWatch({
      reader: client,
      place: { logDirectory: data.log },
      observations: OBSERVATIONS,
      state: 'ALS_MODEL',
      clock: systemClock,
      range: { min: 1, max: 5 },
    })
    await using loop = new RetrainLoop({
      ...options({
        reader: client,
        golden,
        // All tastes have turned, and so have all lists.
        limits: {
          quality: { tolerance: 0.3, minOverlap: 0, maxItemRise: 1 },
          serving: { maxP99Ms: 60_000 },
        },
      }),
      newest: 1200,
      policy: { errorRise: 0.3, errorLevel: 0.3, onDrift: true },
      intervalMs: 200,
      error,
      onOutcome: (outcome, { trigger }) => {
        outcomes.push([trigger, outcome])
        done.resolve()
      },
      // A look may time out on a busy machine; the next one comes.
      onError: (failure) => console.info(String(failure)),
    })
    let isFed = false
    let failed = 0
    const feeding = (async () => {
      await feed(1500, true)
      while (!isFed) {
        await feed(100, true)
        await pause(20, 'ratings come over time')
        const { score } = await client.predict('ALS_MODEL', 'u1-U', 'i1-I').catch(() => {
          failed++
          return { score: 0 }
        })
        expect(Number.isFinite(score)).toBe(true)
      }
    })()
    loop.start()
    await done.promise
    isFed = true
    await feeding
    const [[trigger, outcome]] = outcomes as [[RetrainTrigger, RetrainOutcome]]
    expect(['drift', 'error-level', 'error-rise']).toContain(trigger)
    if (outcome.kind !== 'promoted') throw new Error(JSON.stringify(outcome).slice(0, 3000))
    console.info(
      `${trigger}; gap ${outcome.gap}; ${JSON.stringify(outcome.version.lineage.replayed)}`,
    )
    expect(failed).toBe(0)
    const state = await registry.read()
    const { lineage, number } = liveVersionOf(state, MODEL)!
    expect(number).toBe(2)
    expect(lineage.parent).toBe(findVersion(state, MODEL, '1')!.id)
    expect(lineage.replayed!.length).toBeGreaterThan(0)
    expect(lineage.newestEventMs).toBeGreaterThan(1_600_006_000_000)
    // The one that is live now learns on: from ratings that come after the job has seen the promotion.
    const learned = async () => {
      await feed(100, true)
      const [answer] = await client.values('LEARNING_ERROR', ['2'])
      return answer?.ok
    }
    await expect.poll(learned, { interval: 200 }).toBe(true)
  })

  it('returns the existing version for the same inputs, and rolls back on command', async () => {
    const { lineage } = findVersion(await registry.read(), MODEL, '2')!
    const same = options({
      ranges: lineage.ranges,
      start: () => {
        throw new Error('no work')
      },
    })
    expect(await retrain(same)).toMatchObject({ kind: 'exists', version: { number: 2 } })
    await registry.require({
      kind: 'rollback',
      name: MODEL,
      expectedLive: 2,
      atMs: 2,
      reason: 'test',
    })
    const versionOf = () =>
      client
        .predictWithEnvelope('ALS_MODEL', 'u1-U', 'i1-I')
        .then((answer) => (answer.ok ? answer.envelope.modelVersion : 0))
    await expect.poll(versionOf).toBe(1)
  })
})
