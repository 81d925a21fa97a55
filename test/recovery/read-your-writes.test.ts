import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { generateRatings } from '../../src/models/ratings/generator.ts'
import type { Rating } from '../../src/models/ratings/rating.ts'
import { trainAls } from '../../src/training/als/train.ts'
import { ratingsTable } from '../../src/training/data/ratings-table.ts'
import { atLeast } from '../../src/wire/model-reader.ts'
import { until } from '../run/until.ts'
import { LearningFixture, type LearningOptions } from './online-fixture.ts'

const root = mkdtempSync(join(tmpdir(), 'weir-read-your-writes-'))
const all = [...generateRatings({ users: 60, items: 30, ratings: 1500, seed: 8, drift: 0.3 })]
const table = ratingsTable(all.slice(0, 1400))
const stream = all.slice(1400)
/** The observations are the second source of the job, and their deltas the third one. */
const OBSERVATIONS = 1
const DELTAS = 2

afterAll(() => rmSync(root, { recursive: true, force: true }))

async function start(name: string, job: LearningOptions['job'] = {}): Promise<LearningFixture> {
  const model = await trainAls(table, { factors: 4, iterations: 3, threads: 0 })
  const rule = { rule: 'sgd', learningRate: 0.03 } as const
  const fixture = await LearningFixture.start({
    root: join(root, name),
    model,
    rule,
    parallelism: 2,
    checkpointInterval: '1 h',
    job,
  })
  await fixture.untilWritten('user-rows', model.users.length)
  await untilLive(fixture, 1)
  return fixture
}

async function untilLive({ job }: LearningFixture, version: number): Promise<void> {
  await until(`version ${version} is live`, () => job.board.liveVersion(0) === version)
}

/** Appends one rating; its position in the observations when it is acknowledged. */
async function rate(fixture: LearningFixture, rating: Rating) {
  const before = await fixture.ends()
  await fixture.rate([rating])
  const after = await fixture.ends()
  const { partition, next } = after.find(({ next }, i) => next > before[i]!.next)!
  return { source: OBSERVATIONS, partition, offset: next - 1 }
}

it('rows of user and item include a rating that is acknowledged, in every version', async () => {
  await using fixture = await start('ratings')
  let last = { source: 0, partition: 0, offset: 0 }
  for (const rating of stream.slice(0, 30)) {
    const { user, item } = rating
    last = await rate(fixture, rating)
    const consistency = atLeast(last)
    const keys = [`${user}-U`, `${item}-I`]
    const answers = await fixture.reader().rows('ALS_MODEL', keys, { consistency })
    for (const [i, answer] of answers.entries()) {
      if (!answer.ok) throw answer.error
      // A slot that has read no rating yet does not know the number of their source: an item has the place of the delta.
      const isOfDelta = i === 1 && answer.envelope.source === DELTAS
      expect(answer.envelope).toMatchObject(isOfDelta ? {} : last)
    }
    // The position of the answer is one that can be asked for.
    const [again] = await fixture.reader().rows('ALS_MODEL', keys, {
      consistency: atLeast(answers[0]!.ok ? answers[0]!.envelope : last),
    })
    expect(again?.ok).toBe(true)
  }
  // Another version learns all ratings once more.
  const model = await trainAls(table, { factors: 4, iterations: 2, threads: 0 })
  fixture.resumeOffsets.set(2, fixture.resumeOffsets.get(1)!)
  await fixture.publish(model, 2)
  await untilLive(fixture, 2)
  const { user, item } = stream[29]!
  const [ofUser, ofItem] = await fixture
    .reader()
    .rows('ALS_MODEL', [`${user}-U`, `${item}-I`], { consistency: atLeast(last) })
  expect(ofUser).toMatchObject({ ok: true, envelope: { ...last, modelVersion: 2 } })
  // Ratings of other partitions may have come after it.
  const source = expect.toBeOneOf([OBSERVATIONS, DELTAS])
  expect(ofItem).toMatchObject({ ok: true, envelope: { source, modelVersion: 2 } })
})

it('a position that is not reached is not granted, and windows of deltas refuse one', async () => {
  await using fixture = await start('windows', { window: { count: 100, intervalMs: 60_000 } })
  const reader = fixture.reader()
  const read = (source: number, partition: number, offset: number) =>
    reader.rows('ALS_MODEL', ['1-U'], {
      consistency: atLeast({ source, partition, offset }),
      deadlineMs: 200,
    })
  await expect(read(OBSERVATIONS, 0, 0)).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  await expect(read(9, 0, 0)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  await expect(read(0, -1, 0)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  expect(await read(0, 0, 100_000)).toMatchObject([
    { ok: false, error: { code: 'NOT_UP_TO_BOUND' } },
  ])
})
