import { describe, expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { NO_TIMESTAMP } from '../../../src/core/time.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import { ratingsOf, ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { feedRatings, ratingsOfTopic } from '../../../src/training/evaluate/ratings-topic.ts'
import { temporaryFolder } from '../../connectors/log/fixture.ts'

const table = ratingsTable(generateRatings({ users: 40, items: 20, ratings: 600 }))
const feeding = { topic: 'ratings', clock: systemClock }
const sorted = (ratings: Iterable<{ user: string; item: string; rating: number }>): string[] =>
  [...ratings].map(({ user, item, rating }) => `${user}/${item}/${rating}`).toSorted()

describe('an observations topic', () => {
  it('returns the ratings of a feed, in the same order each time, without those of other feeds', async () => {
    await using topics = new LogTopics(temporaryFolder())
    expect(await ratingsOfTopic(topics, 'ratings', 'a')).toMatchObject({ fed: 0 })
    await feedRatings(table, { ...feeding, topics, feed: 'a' })
    const other = ratingsTable([{ user: 'x', item: 'y', rating: 1, timestamp: NO_TIMESTAMP }])
    await feedRatings(other, { ...feeding, topics, feed: 'b' })
    const first = await ratingsOfTopic(topics, 'ratings', 'a')
    expect(first.fed).toBe(600)
    expect(sorted(ratingsOf(first.table))).toEqual(sorted(ratingsOf(table)))
    expect(await ratingsOfTopic(topics, 'ratings', 'a')).toEqual(first)
    expect((await ratingsOfTopic(topics, 'ratings', 'b')).fed).toBe(1)
  })

  it('keeps all ratings of a user in one partition, forever', async () => {
    await using topics = new LogTopics(temporaryFolder())
    await feedRatings(table, { ...feeding, topics, feed: 'a' })
    const places = new Map<string, Set<number>>()
    await scanTopic(topics, 'ratings', (record, partition) => {
      const user = String(Buffer.from(record.key()!))
      places.set(user, (places.get(user) ?? new Set()).add(partition))
      return true
    })
    expect(places.size).toBe(table.users.length)
    expect([...places.values()].every(({ size }) => size === 1)).toBe(true)
    expect(await topics.describe('ratings')).toMatchObject({
      ...{ partitions: 4, cleanupPolicy: 'delete', retentionMs: -1, retentionBytes: -1 },
    })
  })

  it('returns ratings without a feed with every feed, and counts records that are not ratings', async () => {
    await using topics = new LogTopics(temporaryFolder())
    await feedRatings(table, { ...feeding, topics, feed: 'a' })
    const producer = await topics.producer('ratings')
    const send = (value: string): void =>
      producer.sendRecord(Buffer.from('ada'), Buffer.from(value), 1, -1, [])
    send('ada,7,4.5')
    await producer.sync()
    const { table: read, fed } = await ratingsOfTopic(topics, 'ratings', 'a')
    expect([fed, read.size]).toEqual([600, 601])
    expect(sorted(ratingsOf(read))).toContain('ada/7/4.5')
    send('five stars')
    await producer.sync()
    expect(await ratingsOfTopic(topics, 'ratings', 'a')).toMatchObject({ fed: 600, refused: 1 })
  })
})
