import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { seededRandom } from '../../src/core/random.ts'
import { generateRatings } from '../../src/models/ratings/generator.ts'
import { trainAls } from '../../src/training/als/train.ts'
import { ratingsTable } from '../../src/training/data/ratings-table.ts'
import { until } from '../run/until.ts'
import { commitSeed } from '../services/commit-seed.ts'
import { LearningFixture } from './online-fixture.ts'

/** The item's row is the sum of the deltas: no newcomer's delta is shortened. */
const RULE = { rule: 'sgd', learningRate: 0.002, deltas: 'step', newcomers: 1e12 } as const
const SLOTS = 3

it('what was learned before a stop is forgotten, and what is learned after it counts once, under kills', async () => {
  const seed = commitSeed()
  console.log(`WEIR_SEED=${seed}`)
  const random = seededRandom(seed)
  const root = mkdtempSync(join(tmpdir(), 'weir-stopped-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const all = [...generateRatings({ users: 200, items: 80, ratings: 9000, seed: 7 })]
  const model = await trainAls(ratingsTable(all.slice(0, 4000)), {
    ...{ factors: 4, iterations: 3, threads: 0 },
  })
  const [before, meanwhile, after] = [all.slice(4000, 6000), all.slice(6000, 7000), all.slice(7000)]
  await using fixture = await LearningFixture.start({
    ...{ root, model, rule: RULE, parallelism: SLOTS },
    checkpointInterval: '100 ms',
  })
  const kill = async (): Promise<void> => {
    const failures = fixture.job.failures.length
    fixture.job.killSlot(random.below(SLOTS))
    await until('the slot is lost', () => fixture.job.failures.length > failures)
    await fixture.job.waitFor('RUNNING')
  }
  const expectPublished = (): void => {
    for (const [state, kind] of [
      ['user-rows', 'U'],
      ['item-rows', 'I'],
    ] as const) {
      for (const [key, { vector, updateCount }] of fixture.rows(state)) {
        const published = model.rowOf(kind, key.slice(0, -2))
        if (published === undefined) continue
        expect([...vector], key).toEqual([...published])
        expect(updateCount, key).toBe(1)
      }
    }
  }
  await fixture.rate(before)
  // The stop comes while ratings and deltas are on their way.
  await fixture.untilWritten('item-rows', model.items.length + 500 + random.below(1000))
  // What was learned is in the checkpoint that the kill goes back to.
  await fixture.job.triggerCheckpoint()
  fixture.learning.setPhase(1, 1)
  await kill()
  await fixture.rate(meanwhile)
  await fixture.untilStopped(SLOTS)
  await fixture.untilApplied()
  expectPublished()
  await kill()
  await fixture.untilStopped(SLOTS)
  await fixture.untilApplied()
  expectPublished()

  const users = fixture.rows('user-rows')
  fixture.learning.setPhase(1, 2)
  await fixture.untilStopped(0)
  await fixture.job.triggerCheckpoint()
  for (let sent = 0; sent < after.length; sent += 500) {
    await fixture.rate(after.slice(sent, sent + 500))
    await kill()
  }
  await fixture.untilApplied()
  const rated = Map.groupBy(after, ({ user }) => `${user}-U`)
  for (const [key, { updateCount }] of fixture.rows('user-rows')) {
    const expected = (users.get(key)?.updateCount ?? 0) + (rated.get(key)?.length ?? 0)
    expect(updateCount, key).toBe(expected)
  }
  const { deltas } = await fixture.distinctDeltas()
  const learned = deltas.filter(({ phase }) => phase === 2)
  expect(learned).toHaveLength(after.length)
  for (const [key, { vector }] of fixture.rows('item-rows')) {
    const base = Float64Array.from(model.rowOf('I', key.slice(0, -2)) ?? model.meanItem)
    for (const delta of learned) {
      if (delta.key !== key) continue
      for (let i = 0; i < base.length; i++) base[i]! += delta.values[i]!
    }
    for (const [i, value] of vector.entries()) expect(value, key).toBeCloseTo(base[i]!, 3)
  }
})
