import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openLineFolder } from '../../../src/connectors/file/open-folder.ts'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import type { RetrainOptions } from '../../../src/jobs/retrain/options.ts'
import type { TrainingProcess } from '../../../src/jobs/retrain/process.ts'
import { retrain } from '../../../src/jobs/retrain/retrain.ts'
import { TopicArchive } from '../../../src/models/observations/topic-archive.ts'
import { isCandidate } from '../../../src/models/registry/adopt.ts'
import { processingName } from '../../../src/models/registry/processing-name.ts'
import { ratingsIn } from '../../../src/models/topic/row-ratings.ts'
import { readyVersions } from '../../../src/models/versions/model-versions.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import type { ModelReader } from '../../../src/wire/model-reader.ts'
import { feedBetween, retrainOptions, trainerHere } from './fixture.ts'

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

const feed = (from: number, to: number): Promise<void> => feedBetween(topics, from, to)

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

const here = trainerHere
const optionsWith = (start: () => TrainingProcess): RetrainOptions => retrainOptions(folder, start)

describe('a retraining', () => {
  it('has nothing to train on without observations', async () => {
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

  it('says what the newest observations leave out of those that the live version was trained on', async () => {
    const steps: string[] = []
    const isLeftOut = (step: string): boolean => step.includes('leave out')
    const options = { ...optionsWith(here), onStep: (step: string) => steps.push(step) }
    await topics.create('ratings', { partitions: 1 })
    await feed(0, 300)
    await retrain({ ...options, newest: 200 })
    // There is no live version yet, so nothing that could be forgotten.
    expect(steps[0]).toBe('training on 200 observations')
    expect(steps.filter(isLeftOut)).toEqual([])
    const { registry } = options
    await registry.require({
      kind: 'promote',
      name: 'als-model',
      number: 1,
      expectedLive: 0,
      atMs: 1,
      force: 'a test',
    })
    await feed(300, 400)
    await retrain({ ...options, newest: 150 })
    // Each feed ends with a control record: the live version has read the offsets 101 to 301, these are 252 to 402.
    expect(steps.filter(isLeftOut)).toEqual([
      'the newest 150 of 402 observations leave out 151 that version 1 was trained on or has learned: the candidate forgets them',
    ])
    await retrain({ ...options, newest: 350 })
    await retrain(options)
    expect(steps.filter(isLeftOut)).toHaveLength(1)
  })

  it('is refused where the topic has removed what a job has learned since, unless that may be forgotten or is in an archive', async () => {
    const options = optionsWith(here)
    await topics.create('ratings', { partitions: 1, segmentBytes: 500 })
    await feed(0, 300)
    await retrain(options)
    const { registry } = options
    const name = 'als-model'
    const promote = { kind: 'promote', name, number: 1, expectedLive: 0, atMs: 1 } as const
    await registry.require({ ...promote, force: 'a test' })
    const trained = (await topics.bounds('ratings'))[0]!.end
    await feed(300, 600)
    const archive = join(folder, 'archive')
    const to = openLineFolder(archive)
    await new TopicArchive({ topics, topic: 'ratings', folder: to, format: 'ratings' }).round()
    await topics.deleteRecords('ratings', [(await topics.bounds('ratings'))[0]!.end])
    expect((await topics.bounds('ratings'))[0]!.start).toBeGreaterThan(trained)
    await feed(600, 650)
    // No job learns the model yet: nothing is forgotten.
    expect(await retrain(options)).toMatchObject({ kind: 'candidate', version: { number: 2 } })
    await registry.require({ kind: 'record-learning', name, learning: { learnsFrom: 'ratings' } })
    await feed(650, 700)
    await expect(retrain(options)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(
        /^topic ratings has removed \d+ records that came after the training of version 1, .* --forget-learned$/,
      ),
    })
    expect(await retrain({ ...options, history: { places: [archive] } })).toMatchObject({
      kind: 'candidate',
      version: { number: 3, lineage: { metrics: { observations: 700 } } },
    })
    expect(await retrain({ ...options, forgetLearned: true })).toMatchObject({
      kind: 'candidate',
      version: { number: 4 },
    })
  })

  it('trains by Bayesian factorisation, without a start from the live rows', async () => {
    await feed(0, 300)
    const als = { trainer: 'bmf', factors: 4, sweeps: 8, threads: 0 } as const
    const outcome = await retrain({ ...optionsWith(here), als })
    expect(outcome).toMatchObject({
      kind: 'candidate',
      version: {
        dimension: 6,
        lineage: {
          code: 'bmf/1',
          hyperparameters: { trainer: 'bmf', factors: 4, sweeps: 8 },
          metrics: { observations: 300, noise: expect.any(Number), trainRmse: expect.any(Number) },
        },
      },
    })
    if (outcome.kind === 'candidate') expect(outcome.version.lineage.parent).toBeUndefined()
    const again = await retrain({ ...optionsWith(here), als })
    expect(again).toMatchObject({ kind: 'exists', version: { number: 1 } })
    const byAls = await retrain(optionsWith(here))
    expect(byAls).toMatchObject({ kind: 'candidate', version: { lineage: { code: 'als/1' } } })
  })

  it('makes candidates with rows of other lengths beside each other', async () => {
    await feed(0, 300)
    await retrain(optionsWith(here))
    const longer = { als: { factors: 5, iterations: 2, threads: 0 } }
    expect(await retrain({ ...optionsWith(here), ...longer })).toMatchObject({
      kind: 'candidate',
      version: { number: 2, dimension: 7 },
    })
    // A chain always has biases.
    const chain = { trainer: 'bmf', factors: 6, sweeps: 8, threads: 0 } as const
    await retrain({ ...optionsWith(here), als: chain })
    const lengths = (await readyVersions(topics, 'als-model')).map(({ dimension }) => dimension)
    expect(lengths).toEqual([6, 7, 8])
  })

  it('does no work for the same inputs, but for more observations', async () => {
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

  it('replays observations that arrive during training and publishing', async () => {
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

  it('says which records its replay leaves out, and where the first one is', async () => {
    await feed(0, 300)
    const steps: string[] = []
    const spoil = async (): Promise<void> => {
      const producer = await topics.producer('ratings')
      for (const text of ['no rating', 'nor this', 'u1,i1,4,345']) {
        producer.sendRecord(null, new TextEncoder().encode(text), 345_000, 0, [])
      }
      await producer.sync()
      await producer.close()
    }
    const start = () => here(async (kind) => (kind === 'train' ? await spoil() : undefined))
    const outcome = await retrain({ ...optionsWith(start), onStep: (step) => steps.push(step) })
    expect(outcome.kind).toBe('candidate')
    expect(steps).toContain('replayed 1 observations')
    expect(steps.filter((step) => step.startsWith('left out'))).toEqual([
      expect.stringMatching(
        /^left out 2 records of topic ratings that cannot be read, the first at 0:\d+: not a rating/,
      ),
    ])
  })

  it('publishes the number of training ratings of each row', async () => {
    await feed(0, 300)
    await retrain(optionsWith(here))
    expect(await publishedRatings()).toEqual(ratingsUntil(300))
  })
})

describe('a candidate of a retraining that has not registered it', () => {
  const rowsOf = async (version: number): Promise<number> => {
    const rows = new Set<string>()
    await scanTopic(topics, 'als-model', (record) => {
      const key = decoder.decode(record.key()!)
      if (!key.endsWith(`@${version}`) || !/-[UI]@/.test(key)) return true
      if (record.value() === null) rows.delete(key)
      else rows.add(key)
      return true
    })
    return rows.size
  }

  /** A retraining that fails after the version was published, while rows are learned again. */
  async function failAfterPublishing(): Promise<void> {
    const failing = here(async (kind) => {
      if (kind === 'write') await feed(300, 310)
      if (kind === 'replay' && (await readyVersions(topics, 'als-model')).length > 0) {
        throw new Error('the trainer was killed')
      }
    })
    await expect(retrain(optionsWith(() => failing))).rejects.toThrow('killed')
  }

  it('is deleted by the next one, also when the registry has got it from the topic', async () => {
    await feed(0, 300)
    await failAfterPublishing()
    expect(await rowsOf(1)).toBe(28)
    const { registry } = optionsWith(here)
    await registry.adopt('als-model', await readyVersions(topics, 'als-model'))
    expect(await retrain(optionsWith(here))).toMatchObject({ version: { number: 2 } })
    expect([await rowsOf(1), await rowsOf(2)]).toEqual([0, 28])
    const { versions } = await registry.read()
    const states = [...versions.get('als-model')!.values()].map(({ state }) => state)
    expect(states).toEqual(['retired', 'candidate'])
    expect(await readyVersions(topics, 'als-model')).toMatchObject([{ version: 2 }])
  })
})

describe('a second retraining on the same observations', () => {
  it('is nothing to do; from the rows of another version it is another model', async () => {
    await feed(0, 300)
    const options = optionsWith(here)
    const first = await retrain(options)
    expect(await retrain(options)).toMatchObject({ kind: 'exists', version: { number: 1 } })
    const name = 'version' in first ? first.version.processingName : ''
    const other = processingName({
      ranges: [{ topic: 'ratings', partition: 0, from: 0, to: 300 }],
      files: [],
      code: 'als/1',
      hyperparameters: { factors: 4, iterations: 2 },
      parent: 'id',
    })
    expect(other).not.toBe(name)
  })

  it('checks a refused candidate again on another golden set, without another training', async () => {
    await feed(0, 300)
    const taste = (user: number, item: number): number => 1.5 + ((user * 3 + item) % 4)
    const goldenOf = (ratingOf: (taste: number) => number) => {
      const ratings = Array.from({ length: 150 }, (_, n) => {
        const [user, item] = [n % 17, Math.floor(n / 17)]
        return {
          user: `u${user}`,
          // Not in the training data, which have all pairs of the first items.
          item: `i${1000 + item}`,
          rating: ratingOf(taste(user, 1000 + item)),
          timestamp: n,
        }
      })
      return { ratings: ratingsTable(ratings), subject: 'golden' }
    }
    let trainings = 0
    const reader = {
      predict: async (_: string, user: string, item: string) => {
        const score = taste(Number.parseInt(user.slice(1), 10), Number.parseInt(item.slice(1), 10))
        return { score, leftCold: false, rightCold: false }
      },
    } as Partial<ModelReader> as ModelReader
    const retrainOn = (golden: ReturnType<typeof goldenOf>) =>
      retrain({
        ...optionsWith(() => {
          trainings++
          return here()
        }),
        reader,
        golden,
      } as RetrainOptions)

    const turned = goldenOf((rating) => 6 - rating)
    expect(await retrainOn(turned)).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('RMSE against the mean rating'),
    })
    expect(await retrainOn(turned)).toMatchObject({ kind: 'exists', version: { number: 1 } })
    const right = goldenOf((rating) => rating)
    expect(await retrainOn(right)).toMatchObject({ kind: 'promoted', version: { number: 1 } })
    expect(await retrainOn(right)).toMatchObject({ kind: 'exists', version: { state: 'live' } })
    expect(trainings).toBe(1)
  })

  it('deletes the folders of trainings that were killed, and those alone', async () => {
    await feed(0, 300)
    const [dead, young] = ['99999999-als-dead', '99999999-als-young']
    for (const each of [dead, young])
      mkdirSync(join(folder, 'temporary', each), { recursive: true })
    utimesSync(join(folder, 'temporary', dead), 1, 1)
    await retrain(optionsWith(here))
    expect(readdirSync(join(folder, 'temporary'))).toEqual([young])
  })
})
