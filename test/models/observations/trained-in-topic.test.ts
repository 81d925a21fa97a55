import { describe, expect, it, onTestFinished } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { trainedInTopic } from '../../../src/models/observations/trained-in-topic.ts'
import { ObservationsDigester } from '../../../src/models/registry/ranges/observations-digest.ts'
import { temporaryFolder } from '../../connectors/log/fixture.ts'

interface Line {
  readonly user: string
  readonly item: string
  readonly rating: number
  /** Time of the rating, seconds since 1970. */
  readonly seconds?: number
}

const FILE: readonly Line[] = Array.from({ length: 300 }, (_, n) => ({
  user: `u${n % 17}`,
  item: `i${n % 11}`,
  rating: 1 + (n % 5),
  seconds: n,
}))
const FRESH: readonly Line[] = FILE.slice(0, 50).map((line, n) => ({ ...line, seconds: 1000 + n }))

const TRAINED = { kind: 'ratings', digest: digestOf(FILE), newestEventMs: 299_000 } as const

function digestOf(lines: readonly Line[]) {
  const digester = new ObservationsDigester()
  for (const { user, item, rating } of lines) digester.addRating(user, item, rating)
  return digester.digest
}

/** A topic; each appended file has its own millisecond, or one for each of `steps` lines. */
class Topic {
  readonly topics = new LogTopics(temporaryFolder())
  private ms = 1000

  static async of(partitions: number): Promise<Topic> {
    const topic = new Topic()
    onTestFinished(() => topic.topics[Symbol.asyncDispose]())
    await topic.topics.create('ratings', { partitions })
    return topic
  }

  async append(lines: readonly Line[], linesOfAMillisecond = 100): Promise<void> {
    const producer = await this.topics.producer('ratings')
    for (const [n, { user, item, rating, seconds }] of lines.entries()) {
      if (n % linesOfAMillisecond === 0) this.ms++
      const time = seconds === undefined ? '' : `,${seconds}`
      const key = Buffer.from(user)
      producer.sendRecord(key, Buffer.from(`${user},${item},${rating}${time}`), this.ms, -1, [])
    }
    await producer.sync()
    await producer.close()
  }

  find(trained: Parameters<typeof trainedInTopic>[2] = TRAINED) {
    return trainedInTopic(this.topics, 'ratings', trained)
  }

  /** By partition, the offset at its end. */
  async ends(): Promise<ReadonlyMap<number, number>> {
    const bounds = await this.topics.bounds('ratings')
    return new Map(
      bounds.filter(({ end }) => end > 0).map(({ partition, end }) => [partition, end]),
    )
  }
}

describe.each([1, 4])('in a topic of %i partitions, the ratings of a file', (partitions) => {
  it('are found where they are the first ones', async () => {
    const topic = await Topic.of(partitions)
    await topic.append(FILE)
    const ends = await topic.ends()
    expect(await topic.find()).toEqual({ kind: 'first', count: 300, next: ends })
    await topic.append(FRESH)
    expect(await topic.find()).toEqual({ kind: 'first', count: 300, next: ends })
  })

  it('are found in another order and without their times', async () => {
    const topic = await Topic.of(partitions)
    await topic.append([...FILE].reverse().map(({ seconds: _, ...line }) => line))
    const ends = await topic.ends()
    await topic.append(FRESH)
    expect(await topic.find()).toMatchObject({ kind: 'first', next: ends })
  })

  it('are found once where they are there twice', async () => {
    const topic = await Topic.of(partitions)
    await topic.append(FILE)
    const ends = await topic.ends()
    await topic.append(FILE)
    expect(await topic.find()).toMatchObject({ kind: 'first', next: ends })
  })

  it('are not found behind others, with one missing or with one changed', async () => {
    for (const lines of [
      [...FRESH, ...FILE],
      FILE.slice(1),
      FILE.with(7, { ...FILE[7]!, rating: 6 }),
    ]) {
      const topic = await Topic.of(partitions)
      await topic.append(lines)
      expect(await topic.find()).toMatchObject({ kind: 'not-first', count: lines.length })
    }
  })

  it('may lie between records that are none', async () => {
    const topic = await Topic.of(partitions)
    const bad = [{ user: 'u1', item: 'i1', rating: Number.NaN }]
    await topic.append([...bad, ...FILE.slice(0, 150), ...bad, ...FILE.slice(150)])
    await topic.append(FRESH)
    expect(await topic.find()).toMatchObject({ kind: 'first', count: 300 })
  })
})

it('observations are counted, and those that are newer than the newest of the training', async () => {
  const topic = await Topic.of(2)
  await topic.append(FRESH)
  expect(await topic.find()).toEqual({ kind: 'not-first', count: 50, newer: 50 })
  await topic.append(FILE.slice(0, 20))
  expect(await topic.find()).toEqual({ kind: 'not-first', count: 70, newer: 50 })
  // Without a time of the training nothing is newer.
  const untimed = { ...TRAINED, newestEventMs: -1 }
  expect(await topic.find(untimed)).toEqual({ kind: 'not-first', count: 70, newer: 0 })
})

it('an empty topic has none', async () => {
  const topic = await Topic.of(2)
  expect(await topic.find()).toEqual({ kind: 'not-first', count: 0, newer: 0 })
})
