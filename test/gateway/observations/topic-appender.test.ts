import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import type { TopicProducer, TopicStore } from '../../../src/connectors/topics/store.ts'
import { WeirError } from '../../../src/core/errors.ts'
import { TopicAppender } from '../../../src/gateway/observations/topic-appender.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { until } from '../../run/until.ts'
import { GatewayWorld } from '../world.ts'
import { turnsOf } from './turns.ts'

const DEADLINE_MS = 5_000
const RATING = { user: '1', item: '50', rating: 4, timestamp: -1 }

/** Expects six ratings of each user, 0 to 5 in this order in one partition, and more than one partition. */
async function expectOrderOfUsers(topics: TopicStore, users: readonly string[]): Promise<void> {
  const found = new Map<string, { readonly partition: number; readonly value: string }[]>()
  await scanTopic(topics, 'observations', (record, partition) => {
    const key = Buffer.from(record.key()!).toString()
    const value = Buffer.from(record.value()!).toString()
    found.set(key, [...(found.get(key) ?? []), { partition, value }])
    return true
  })
  expect([...found.keys()].sort()).toEqual(users)
  const used = new Set<number>()
  for (const [user, records] of found) {
    const expected = Array.from({ length: 6 }, (_, rating) => `${user},50,${rating}`)
    expect(records.map(({ value }) => value)).toEqual(expected)
    const partitions = new Set(records.map(({ partition }) => partition))
    expect(partitions.size).toBe(1)
    for (const partition of partitions) used.add(partition)
  }
  expect(used.size).toBeGreaterThan(1)
}

describe('observations on their way to a topic', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'weir-observations-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  it('are in the log when the append resolves', async () => {
    await using topics = await openTopics({ logDirectory: folder })
    await topics.create('observations', { partitions: 2 })
    await using appender = new TopicAppender(topics, 'observations', new ManualClock(5))
    await Promise.all(
      Array.from({ length: 50 }, () => appender.append([RATING, RATING], DEADLINE_MS)),
    )
    const bounds = await topics.bounds('observations')
    expect(bounds.reduce((sum, { start, end }) => sum + end - start, 0)).toBe(100)
  })

  it('are refused, all of a request, where a time is more than a day ahead', async () => {
    await using topics = await openTopics({ logDirectory: folder })
    await topics.create('observations', { partitions: 1 })
    const clock = new ManualClock(1_700_000_000_000)
    await using appender = new TopicAppender(topics, 'observations', clock)
    const ahead = (ms: number) => ({ ...RATING, timestamp: clock.nowMs() + ms })
    const day = 24 * 60 * 60 * 1000
    await appender.append([ahead(day)], DEADLINE_MS)
    await expect(appender.append([RATING, ahead(day + 1)], DEADLINE_MS)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('a time at most a day ahead of now'),
    })
    const [bounds] = await topics.bounds('observations')
    expect(bounds!.end - bounds!.start).toBe(1)
  })

  it('leave other clients turns where they are many', async () => {
    const producer = new SlowProducer()
    const clock = new ManualClock(5)
    const appender = new TopicAppender(
      storeOf(() => producer),
      'observations',
      clock,
    )
    const many = Array.from({ length: 50_000 }, (_, i) => ({ ...RATING, user: String(i) }))
    const appended = appender.append(many, DEADLINE_MS)
    const turns = await turnsOf(async () => {
      while (producer.syncs === 0) await new Promise(setImmediate)
    })
    // A turn for each 4,096 of them: to write their lines, and to send them.
    expect(turns).toBeGreaterThanOrEqual(24)
    expect(producer.lines).toHaveLength(50_000)
    await producer.settle()
    await appended
  })

  it('of one user have the user as key, and are in one partition in their order', async () => {
    await using topics = await openTopics({ logDirectory: folder })
    await topics.create('observations', { partitions: 4 })
    await using appender = new TopicAppender(topics, 'observations', new ManualClock(5))
    const users = ['1', '2', '3', '4', '5', '6']
    for (let rating = 0; rating < 6; rating++) {
      for (const user of users) await appender.append([{ ...RATING, user, rating }], DEADLINE_MS)
    }
    await expectOrderOfUsers(topics, users)
  })

  it('of POST /pref have the user as key, too, and are in one partition in their order', async () => {
    await using topics = await openTopics({ logDirectory: folder })
    await topics.create('observations', { partitions: 4 })
    await using observations = new TopicAppender(topics, 'observations', new ManualClock(5))
    await using app = await new GatewayWorld().open({ observations })
    const users = ['1', '2', '3', '4', '5', '6']
    for (let rating = 0; rating < 6; rating++) {
      for (const user of users) {
        const payload = String(rating)
        const answer = await app.inject({ method: 'POST', url: `/pref/${user}/50`, payload })
        expect(answer.statusCode).toBe(200)
      }
    }
    await expectOrderOfUsers(topics, users)
  })

  it('are answered with a position of each partition that has some of them', async () => {
    await using topics = await openTopics({ logDirectory: folder })
    await topics.create('observations', { partitions: 4 })
    await using appender = new TopicAppender(topics, 'observations', new ManualClock(5))
    const users = ['1', '2', '3', '4', '5', '6']
    await appender.append([RATING], DEADLINE_MS)
    const positions = await appender.append(
      users.map((user) => ({ ...RATING, user })),
      DEADLINE_MS,
    )
    // The last offset of each partition, counted in the topic itself.
    const bounds = await topics.bounds('observations')
    const written = bounds.filter(({ end }) => end > 0)
    expect(written.length).toBeGreaterThan(1)
    expect(positions).toEqual(written.map(({ partition, end }) => ({ partition, offset: end - 1 })))
  })

  it('end at their deadline where the topic does not answer, and may be stored later', async () => {
    const clock = new ManualClock(5)
    const producer = new SlowProducer()
    const appender = new TopicAppender(
      storeOf(() => producer),
      'observations',
      clock,
    )
    const late = appender.append([RATING], 2_000).catch((error: unknown) => error)
    await new Promise(setImmediate)
    clock.advance(2_000)
    expect(await late).toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      message:
        'topic "observations" did not answer within 2000 ms: it is not known whether the observations were stored',
    })
    expect(producer.lines).toHaveLength(1)
    const next = appender.append([RATING], 2_000)
    await producer.settle()
    await next
  })

  it('share a sync with requests that come while another one runs', async () => {
    const producer = new SlowProducer()
    const appender = new TopicAppender(
      storeOf(() => producer),
      'observations',
      new ManualClock(5),
    )
    const all = Promise.all(
      Array.from({ length: 50 }, () => appender.append([RATING], DEADLINE_MS)),
    )
    await producer.settle()
    await all
    expect(producer.lines).toHaveLength(50)
    expect(producer.syncs).toBeLessThanOrEqual(3)
  })

  it('are acknowledged only by a sync that began after they were sent', async () => {
    const producer = new SlowProducer()
    const appender = new TopicAppender(
      storeOf(() => producer),
      'observations',
      new ManualClock(5),
    )
    const first = appender.append([RATING], DEADLINE_MS)
    await new Promise(setImmediate)
    let isAcknowledged = false
    const second = appender.append([RATING], DEADLINE_MS).then(() => {
      isAcknowledged = true
    })
    await new Promise(setImmediate)
    producer.endSync()
    await first
    await new Promise(setImmediate)
    expect(isAcknowledged).toBe(false)
    producer.endSync()
    await second
  })

  it('fail with the topic, and go to a new producer afterwards', async () => {
    const producers = [new SlowProducer(new WeirError('STORE_FAILED', 'EIO')), new SlowProducer()]
    const opened: SlowProducer[] = []
    const appender = new TopicAppender(
      storeOf(() => {
        opened.push(producers[opened.length]!)
        return opened.at(-1)!
      }),
      'observations',
      new ManualClock(5),
    )
    await expect(appender.append([RATING], DEADLINE_MS)).rejects.toMatchObject({
      code: 'STORE_FAILED',
    })
    const again = appender.append([RATING], DEADLINE_MS)
    await producers[1]!.settle()
    await again
    expect(opened).toHaveLength(2)
    expect(producers[1]!.lines).toEqual(['1,50,4'])
  })

  it('of a producer that has failed share no sync with those of the next one', async () => {
    const producers = [new SlowProducer(new WeirError('STORE_FAILED', 'EIO')), new SlowProducer()]
    let opened = 0
    const appender = new TopicAppender(
      storeOf(() => producers[opened++]!),
      'observations',
      new ManualClock(5),
    )
    // In turns, so that it still sends its records when the other one has failed.
    const many = Array.from({ length: 10_000 }, () => RATING)
    const late = appender.append(many, DEADLINE_MS).catch((error: unknown) => error)
    await until('it sends', () => producers[0]!.lines.length > 0, { everyMs: 0 })
    await expect(appender.append([RATING], DEADLINE_MS)).rejects.toMatchObject({
      code: 'STORE_FAILED',
    })
    producers[0]!.error = undefined
    await until('it waits for a sync', () => producers[0]!.syncs === 2, { everyMs: 0 })
    let isAcknowledged = false
    const next = [1, 2].map(() =>
      appender.append([RATING], DEADLINE_MS).then(() => {
        isAcknowledged = true
      }),
    )
    await until('they wait, too', () => producers[1]!.syncs > 0, { everyMs: 0 })
    await producers[0]!.settle()
    await late
    expect(isAcknowledged).toBe(false)
    await producers[1]!.settle()
    await Promise.all(next)
  })

  it.each(['MEAN', 'a\nb', '\ud800'])(
    'are all refused if one has the id %j, and the producer stays',
    async (user) => {
      const producer = new SlowProducer()
      let opened = 0
      const appender = new TopicAppender(
        storeOf(() => {
          opened++
          return producer
        }),
        'observations',
        new ManualClock(5),
      )
      await expect(
        appender.append([RATING, { ...RATING, user }], DEADLINE_MS),
      ).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      })
      const next = appender.append([RATING], DEADLINE_MS)
      await producer.settle()
      await next
      expect([producer.lines, opened]).toEqual([['1,50,4'], 1])
    },
  )
})

/** A producer whose syncs end when the test says so. */
class SlowProducer implements TopicProducer {
  readonly lines: string[] = []
  syncs = 0
  error: Error | undefined
  private readonly ends: (() => void)[] = []

  constructor(error?: Error) {
    this.error = error
  }

  sendRecord(_key: Uint8Array | null, value: Uint8Array | null): void {
    this.lines.push(Buffer.from(value!).toString())
  }

  ready(): boolean {
    return true
  }

  async whenReady(): Promise<void> {}

  async sync(): Promise<void> {
    this.syncs++
    if (this.error !== undefined) throw this.error
    await new Promise<void>((resolve) => this.ends.push(resolve))
  }

  /** Ends the oldest sync that runs. */
  endSync(): void {
    this.ends.shift()!()
  }

  /** Ends every sync until no new one begins. */
  async settle(): Promise<void> {
    for (let idle = 0; idle < 3; idle++) {
      await new Promise(setImmediate)
      for (const end of this.ends.splice(0)) {
        end()
        idle = 0
      }
    }
  }

  async close(): Promise<void> {}
}

function storeOf(producer: () => TopicProducer): TopicStore {
  return { producer: async () => producer() } as Partial<TopicStore> as TopicStore
}
