import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import {
  newestOf,
  offsetsIn,
  rangesOfTopic,
  readObservations,
} from '../../../src/models/observations/topic-ranges.ts'

const ranges = [
  { topic: 'ratings', partition: 0, from: 100, to: 1100 },
  { topic: 'ratings', partition: 1, from: 0, to: 3000 },
]

describe('the newest of some ranges', () => {
  it('are the ends of each partition, in proportion', () => {
    expect(newestOf(ranges, 400)).toEqual([
      { topic: 'ratings', partition: 0, from: 1000, to: 1100 },
      { topic: 'ratings', partition: 1, from: 2700, to: 3000 },
    ])
  })

  it('are all offsets if there are no more', () => {
    expect(newestOf(ranges, 4000)).toEqual(ranges)
    expect(offsetsIn(newestOf(ranges, 5000))).toBe(4000)
  })

  it('include every partition, so that none is replayed from its start', () => {
    expect(newestOf(ranges, 1).map(({ partition }) => partition)).toEqual([0, 1])
  })
})

it('observations are without records that forget a user, and others that are no ratings are reported', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-ranges-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  await using topics = new LogTopics(folder)
  await topics.create('ratings', { partitions: 1 })
  const producer = await topics.producer('ratings')
  const records = [
    [null, '1,2,3'],
    ['405', null],
    [null, null],
    [null, 'none'],
    ['405', '405,2,5'],
  ] as const
  for (const [key, value] of records) {
    const [keyBytes, bytes] = [key, value].map((text) => (text === null ? null : Buffer.from(text)))
    producer.sendRecord(keyBytes!, bytes!, 1, 0, [])
  }
  await producer.sync()
  await producer.close()
  const bad: number[] = []
  const found: string[] = []
  const ranges = await rangesOfTopic(topics, 'ratings')
  const pieces = readObservations(topics, ranges, (_partition, offset) => bad.push(offset))
  for await (const piece of pieces) found.push(...piece.map(({ user }) => user))
  expect(found).toEqual(['1', '405'])
  expect(bad).toEqual([2, 3])
})
