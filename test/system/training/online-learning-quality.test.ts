import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { onlineRule } from '../../../src/models/als/online/rules.ts'
import { SequentialLearner } from '../../../src/models/als/online/sequential-learner.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { learnableModel, momentsOf } from '../../../src/training/als/learnable-model.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { ratingsOf, ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { readRatings } from '../../../src/training/data/read-ratings.ts'
import { splitByTime } from '../../../src/training/data/split-ratings.ts'
import { LearningFixture } from '../../recovery/online-fixture.ts'

const FOLDER = join(import.meta.dirname, '../../../../shared/data/ml-100k')
/** The stable rule of `quality-online`. */
const RULE = { rule: 'gram', noise: 0.5, newUserNoise: 1, userForgetting: 1 } as const
const root = mkdtempSync(join(tmpdir(), 'weir-online-quality-'))

afterAll(() => rmSync(root, { recursive: true, force: true }))

/** MovieLens 100K, or generated ratings of its size where it is missing. */
async function allRatings(): Promise<Rating[]> {
  if (!existsSync(join(FOLDER, 'u1.base'))) {
    return [...generateRatings({ users: 943, items: 1682, ratings: 100_000, seed: 3 })]
  }
  const files = ['u1.base', 'u1.test'].map((name) => readRatings(join(FOLDER, name)))
  return (await Promise.all(files)).flatMap(({ table }) => [...ratingsOf(table)])
}

it('predicts as well live, on two slots, as learning one rating at a time in memory', async () => {
  const { train: seen, test: held } = splitByTime(ratingsTable(await allRatings()), 0.2)
  const { train, test } = splitByTime(seen, 0.375)
  const stream = [...ratingsOf(test)].sort(
    (a, b) => a.timestamp - b.timestamp || (a.user < b.user ? -1 : a.user > b.user ? 1 : 0),
  )
  const model = await trainAls(train, { factors: 10, threads: 0 })
  const shape = { dimension: model.dimension, biased: model.biased }
  const rule = onlineRule(shape, RULE, () => momentsOf(model))
  const replay = new SequentialLearner(learnableModel(model, train), rule)
  for (const rating of stream) replay.learn(rating)

  await using fixture = await LearningFixture.start({
    root,
    model,
    rule: RULE,
    parallelism: 2,
    checkpointInterval: '2 s',
    // Few under way: the order of the ratings is nearly that of the file.
    job: { mostUnderWay: 200, lingerMs: 1 },
  })
  await fixture.rate(stream)
  await fixture.untilWritten('user-rows', model.users.length + stream.length)
  await fixture.untilWritten('item-rows', model.items.length + stream.length)
  const users = fixture.rows('user-rows')
  const items = fixture.rows('item-rows')
  const live = ({ user, item }: Rating): number => {
    const p = users.get(`${user}-U`)?.vector ?? model.meanUser
    const q = items.get(`${item}-I`)?.vector ?? model.meanItem
    const score = p.reduce((sum, value, i) => sum + value * q[i]!, 0)
    return Math.max(model.range.min, Math.min(model.range.max, score))
  }
  const mse = (predict: (rating: Rating) => number): number =>
    [...ratingsOf(held)].reduce((sum, each) => sum + (each.rating - predict(each)) ** 2, 0) /
    held.size
  const expected = mse(({ user, item }) => replay.predict(user, item))
  const found = mse(live)
  const prequential = await fixture.prequentialMse()
  console.log(
    `test MSE ${expected} replayed, ${found} live; prequential ${replay.error.mse} replayed, ${prequential} live`,
  )
  expect(Math.abs(found - expected) / expected).toBeLessThan(0.005)
  expect(Math.abs(prequential - replay.error.mse) / replay.error.mse).toBeLessThan(0.01)
})
