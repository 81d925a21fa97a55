import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { systemClock } from '../../../src/core/clock.ts'
import type { RetrainOptions, RetrainOutcome } from '../../../src/jobs/retrain/options.ts'
import { retrain } from '../../../src/jobs/retrain/retrain.ts'
import type { HistoryFiles } from '../../../src/models/observations/history.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { feedRatings } from '../../../src/training/evaluate/ratings-topic.ts'
import { feedBetween, ratingsBetween, retrainOptions, trainerHere } from './fixture.ts'

let folder: string
let topics: LogTopics
let steps: string[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-history-'))
  topics = new LogTopics(join(folder, 'log'))
  steps = []
})

afterEach(async () => {
  await topics[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const ratings = ratingsBetween
const feed = (from: number, to: number): Promise<void> => feedBetween(topics, from, to)

const csv = (from: number, to: number): string =>
  ratings(from, to)
    .map(({ user, item, rating, timestamp }) => `${user},${item},${rating},${timestamp / 1000}\n`)
    .join('')

const optionsOf = (
  places: readonly string[],
  reading?: HistoryFiles['reading'],
): RetrainOptions => ({
  ...retrainOptions(folder, trainerHere),
  history: { places, ...(reading === undefined ? {} : { reading }) },
  onStep: (step) => steps.push(step),
})

const versionOf = (outcome: RetrainOutcome) => {
  if ('version' in outcome) return outcome.version
  throw new Error(outcome.kind)
}

const at = (name: string): string => join(folder, name)

describe('a retraining with a history', () => {
  it('trains on folders and files before the topic, and its lineage says what it read of each', async () => {
    mkdirSync(at('old'))
    writeFileSync(at('old/part-0'), csv(0, 50))
    writeFileSync(at('old/part-1.gz'), gzipSync(csv(50, 100)))
    writeFileSync(at('newer.csv'), csv(100, 120))
    await feed(120, 180)
    const outcome = await retrain(optionsOf([at('old'), at('newer.csv')]))
    const { lineage, users, items } = versionOf(outcome)
    expect({ users, items }).toEqual({ users: 17, items: 11 })
    expect(lineage).toMatchObject({
      metrics: { observations: 180, unparsable: 0 },
      newestEventMs: 179_000,
      files: [
        { file: at('old'), sha256: expect.stringMatching(/^[0-9a-f]{64}$/), read: { count: 100 } },
        { file: at('newer.csv'), read: { count: 20 } },
      ],
    })
    const counts = lineage.ranges.map(({ read }) => read?.all.count ?? 0)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(60)
    expect(steps[0]).toMatch(
      /^training on \d+ observations of the topic, after those of .*old, .*newer.csv$/,
    )
    expect(steps.some((step) => step.includes('counts twice'))).toBe(false)
  })

  it('chooses a half-life, says which, and knows the version again', async () => {
    await feed(0, 180)
    const options = {
      ...optionsOf([]),
      als: { factors: 4, threads: 0, halfLifeMs: 'auto' },
    } as const
    const { history: _, ...ofTopic } = options
    const { lineage } = versionOf(await retrain(ofTopic))
    expect(lineage.hyperparameters).toMatchObject({ halfLifeMs: 'auto' })
    expect(lineage.hyperparameters['chosenHalfLifeMs']).toBeTypeOf('number')
    expect(steps.filter((step) => step.startsWith('half-life: '))).toHaveLength(1)
    expect((await retrain(ofTopic)).kind).toBe('exists')
  })

  it('gives the rows of a training on all of it in the topic', async () => {
    writeFileSync(at('old.csv'), csv(0, 90))
    await topics.create('ratings', { partitions: 1 })
    await feed(90, 150)
    const split = versionOf(await retrain(optionsOf([at('old.csv')])))
    await topics.create('all', { partitions: 1 })
    const whole = { topics, topic: 'all', feed: 'test', clock: systemClock }
    await feedRatings(ratingsTable(ratings(0, 150)), whole)
    const { history: _, ...options } = optionsOf([])
    const one = versionOf(await retrain({ ...options, model: 'other', observations: 'all' }))
    expect(split.lineage.metrics['trainRmse']).toBe(one.lineage.metrics['trainRmse'])
    expect(split.lineage.metrics['objective']).toBe(one.lineage.metrics['objective'])
  })

  it('is nothing to do where files and topic are the same, wherever the files lie', async () => {
    writeFileSync(at('old.csv'), csv(0, 90))
    await feed(90, 150)
    await retrain(optionsOf([at('old.csv')]))
    writeFileSync(at('copy.csv'), csv(0, 90))
    expect(await retrain(optionsOf([at('copy.csv')]))).toMatchObject({ kind: 'exists' })
    const turned = { columns: { user: '2', item: '1', rating: '3', time: '4' } }
    expect(await retrain(optionsOf([at('copy.csv')], turned))).toMatchObject({
      kind: 'candidate',
      version: { number: 2 },
    })
    writeFileSync(at('copy.csv'), csv(0, 91))
    expect(await retrain(optionsOf([at('copy.csv')]))).toMatchObject({
      kind: 'candidate',
      version: { number: 3 },
    })
  })

  it('trains on files alone where the topic is empty', async () => {
    writeFileSync(at('old.csv'), csv(0, 90))
    await topics.create('ratings', { partitions: 1 })
    const { lineage } = versionOf(await retrain(optionsOf([at('old.csv')])))
    expect(lineage).toMatchObject({ ranges: [], metrics: { observations: 90 } })
  })

  it('says how many ratings of the topic the files have, too', async () => {
    writeFileSync(at('old.csv'), csv(0, 90))
    await feed(60, 150)
    await retrain(optionsOf([at('old.csv')]))
    expect(steps).toContain(
      '30 ratings of topic ratings are of pairs that the files have, too: a rating that is in both counts twice',
    )
  })

  it('counts and names lines that it cannot read, or fails with their place', async () => {
    writeFileSync(at('old.csv'), `${csv(0, 50)}no rating\n${csv(50, 60)}u1,i1,\n`)
    await feed(60, 90)
    await expect(retrain(optionsOf([at('old.csv')]))).rejects.toMatchObject({
      code: 'UNPARSABLE_RECORD',
      message: expect.stringMatching(/old.csv: .*line 51/),
    })
    const { lineage } = versionOf(await retrain(optionsOf([at('old.csv')], { badLines: 'count' })))
    expect(lineage.metrics).toMatchObject({ observations: 90, unparsable: 2 })
    expect(steps).toContainEqual(
      expect.stringMatching(
        /^left out 2 lines of .*old.csv that cannot be read; line 51 of .*old.csv/,
      ),
    )
  })

  it('refuses a place without files, and one without observations', async () => {
    await feed(0, 90)
    await expect(retrain(optionsOf([at('none')]))).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' })
    writeFileSync(at('empty.csv'), '')
    await expect(retrain(optionsOf([at('empty.csv')]))).rejects.toMatchObject({
      code: 'EMPTY_DATASET',
    })
  })
})
