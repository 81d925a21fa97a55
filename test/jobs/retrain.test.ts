import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readyVersions } from '../../src/cli/model-versions.ts'
import { LogTopics } from '../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../src/connectors/topics/scan-topic.ts'
import { systemClock } from '../../src/core/clock.ts'
import { ModelRegistry } from '../../src/jobs/model-registry.ts'
import { feedRatings } from '../../src/jobs/ratings-topic.ts'
import { type RetrainOptions, retrain } from '../../src/jobs/retrain.ts'
import type { TrainingProcess } from '../../src/jobs/retrain-process.ts'
import { RetrainTrainer } from '../../src/jobs/retrain-trainer.ts'
import { ratingsIn } from '../../src/jobs/row-ratings.ts'
import { isCandidate } from '../../src/models/registry-adopt.ts'
import { ratingsTable } from '../../src/training/ratings-table.ts'

const decoder = new TextDecoder()
let folder: string
let topics: LogTopics

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-retrain-'))
  topics = new LogTopics(join(folder, 'log'))
})

afterEach(async () => {
  await topics[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

async function feed(from: number, to: number): Promise<void> {
  const ratings = Array.from({ length: to - from }, (_, i) => {
    const n = from + i
    return {
      user: `u${n % 17}`,
      item: `i${n % 11}`,
      rating: 1 + ((n * 7) % 5),
      timestamp: n * 1000,
    }
  })
  const options = { topics, topic: 'ratings', feed: 'test', clock: systemClock }
  await feedRatings(ratingsTable(ratings), options)
}

/** On how many ratings the rows of version 1 were trained, as their last records say. */
async function publishedRatings(): Promise<Record<string, number | undefined>> {
  const counts: Record<string, number | undefined> = {}
  await scanTopic(topics, 'als-model', (record) => {
    const key = decoder.decode(record.key()!)
    if (key.endsWith('-U@1') || key.endsWith('-I@1')) {
      counts[key.slice(0, -2)] = ratingsIn(record.headers())
    }
    return true
  })
  return counts
}

/** Ratings of each user and item in `feed(0, to)`. */
function ratingsUntil(to: number): Record<string, number> {
  const counts: Record<string, number> = {}
  for (let n = 0; n < to; n++) {
    for (const key of [`u${n % 17}-U`, `i${n % 11}-I`]) counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

/** The trainer in this process; `before` runs before each request. */
function here(before: (kind: string) => Promise<void> = async () => {}): TrainingProcess {
  const trainer = new RetrainTrainer(() => {})
  return {
    async ask(request) {
      await before(request.kind)
      return (await trainer.answer(request)) as never
    },
    async [Symbol.asyncDispose]() {},
  }
}

const optionsWith = (start: () => TrainingProcess): RetrainOptions => ({
  place: { logDirectory: join(folder, 'log') },
  registry: new ModelRegistry({
    place: { logDirectory: join(folder, 'registry') },
    clock: systemClock,
  }),
  model: 'als-model',
  observations: 'ratings',
  als: { factors: 4, iterations: 2, threads: 0 },
  rule: { rule: 'gram' },
  temporary: join(folder, 'temporary'),
  start,
  newId: () => 'id',
  clock: systemClock,
})

describe('a retraining', () => {
  it('has nothing to train on where there are no observations', async () => {
    await topics.create('ratings', { partitions: 1 })
    expect(await retrain(optionsWith(here))).toEqual({ kind: 'nothing-to-train-on' })
  })

  it('publishes a candidate with its lineage and leaves no files behind', async () => {
    await feed(0, 300)
    const outcome = await retrain(optionsWith(here))
    expect(outcome).toMatchObject({
      kind: 'candidate',
      version: {
        number: 1,
        users: 17,
        items: 11,
        state: 'candidate',
        lineage: {
          code: 'als/1',
          newestEventMs: 299_000,
          hyperparameters: { factors: 4, iterations: 2 },
          metrics: { observations: 300, unparsable: 0, smallestRating: 1, largestRating: 5 },
        },
      },
    })
    const [marker] = await readyVersions(topics, 'als-model')
    expect(marker).toMatchObject({ version: 1, users: 17, items: 11 })
    expect(isCandidate(marker!)).toBe(true)
    expect(readdirSync(join(folder, 'temporary'))).toEqual([])
  })

  it('does no work for the same inputs, and does for more observations', async () => {
    await feed(0, 300)
    await retrain(optionsWith(here))
    let started = 0
    const counted = () => {
      started++
      return here()
    }
    expect(await retrain(optionsWith(counted))).toMatchObject({
      kind: 'exists',
      version: { number: 1 },
    })
    expect(started).toBe(0)
    await feed(300, 310)
    expect(await retrain(optionsWith(counted))).toMatchObject({
      kind: 'candidate',
      version: { number: 2 },
    })
  })

  it('replays what came while it trained and while it published', async () => {
    await feed(0, 300)
    const during: Record<string, () => Promise<void>> = {
      train: () => feed(300, 340),
      write: () => feed(340, 345),
    }
    const outcome = await retrain(
      optionsWith(() => here(async (kind) => (kind in during ? await during[kind]!() : undefined))),
    )
    if (outcome.kind !== 'candidate') throw new Error(outcome.kind)
    const { ranges, replayed, newestEventMs } = outcome.version.lineage
    const count = (all: typeof ranges) => all.reduce((sum, { from, to }) => sum + to - from, 0)
    // Transactions of the feeds leave markers among the offsets.
    expect(count(replayed ?? [])).toBeGreaterThanOrEqual(45)
    expect(newestEventMs).toBe(344_000)
    expect(await publishedRatings()).toEqual(ratingsUntil(345))
  })

  it('says of each row on how many ratings it was trained', async () => {
    await feed(0, 300)
    await retrain(optionsWith(here))
    expect(await publishedRatings()).toEqual(ratingsUntil(300))
  })
})
