import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { LearningFixture } from '../../recovery/online-fixture.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'

let broker: SharedKafka
let root: string

beforeAll(async () => {
  broker = await sharedKafka()
  root = mkdtempSync(join(tmpdir(), 'weir-online-kafka-'))
})

afterAll(async () => {
  await broker?.[Symbol.asyncDispose]()
  rmSync(root, { recursive: true, force: true })
})

describe('online learning on Kafka', () => {
  it('keeps every item row at its base plus the distinct deltas, under a kill', async () => {
    const all = [...generateRatings({ users: 200, items: 80, ratings: 6000, seed: 3 })]
    const model = await trainAls(ratingsTable(all.slice(0, 4000)), {
      factors: 4,
      iterations: 3,
      threads: 0,
    })
    const stream = all.slice(4000)
    await using fixture = await LearningFixture.start({
      root,
      model,
      // Each row is the sum of its deltas: those of newcomers are not shortened.
      rule: { rule: 'sgd', deltas: 'step', learningRate: 0.005, newcomers: 1e12 },
      parallelism: 2,
      kafka: { brokers: broker.bootstrap },
      checkpointInterval: '500 ms',
    })
    await fixture.rate(stream.slice(0, 1000))
    await fixture.untilWritten('user-rows', model.users.length + 900)
    fixture.job.killSlot(1)
    await fixture.rate(stream.slice(1000))
    await fixture.untilWritten('user-rows', model.users.length + stream.length)
    await fixture.untilWritten('item-rows', model.items.length + stream.length)
    const { deltas } = await fixture.distinctDeltas()
    expect(deltas.length).toBe(stream.length)
    for (const [key, { vector, updateCount }] of fixture.rows('item-rows')) {
      const published = model.rowOf('I', key.slice(0, -2))
      const row = Float64Array.from(published ?? model.meanItem)
      const own = deltas.filter((delta) => delta.key === key)
      for (const { values } of own) for (let i = 0; i < row.length; i++) row[i]! += values[i]!
      expect(updateCount).toBe(own.length + (published === undefined ? 0 : 1))
      for (const [i, value] of vector.entries()) expect(value).toBeCloseTo(row[i]!, 3)
    }
  })
})
