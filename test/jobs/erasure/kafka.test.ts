import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import type { TopicStore } from '../../../src/connectors/topics/store.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { forgetOnKafka, type OnKafka } from '../../../src/jobs/erasure/kafka.ts'
import { Person } from '../../../src/jobs/erasure/person.ts'

type Line = readonly [key: string | null, value: string | null]

/** Topics as a Kafka has them: no record can be taken out alone. The topic is compacted or not. */
async function topicOf(
  lines: readonly Line[],
  cleanupPolicy: 'compact' | 'delete',
  retentionMs = -1,
): Promise<TopicStore> {
  const directory = mkdtempSync(join(tmpdir(), 'weir-forget-kafka-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const log = new LogTopics(directory)
  onTestFinished(() => log[Symbol.asyncDispose]())
  await log.create('t', { cleanupPolicy, segmentBytes: 1, retentionMs })
  const producer = await log.producer('t')
  for (const [n, [key, value]] of lines.entries()) {
    const bytes = value === null ? null : Buffer.from(value)
    producer.sendRecord(key === null ? null : Buffer.from(key), bytes, 1 + n, 0, [])
    await producer.sync()
  }
  await producer.close()
  return Object.create(log, { stored: { value: undefined } })
}

async function valuesIn(topics: TopicStore): Promise<string[]> {
  const values: string[] = []
  await scanTopic(topics, 't', (record) => {
    const value = record.value()
    values.push(value === null ? `no ${Buffer.from(record.key()!)}` : Buffer.from(value).toString())
    return true
  })
  return values
}

const forgetIn = (topics: TopicStore, onKafka?: OnKafka) =>
  forgetOnKafka(topics, [{ place: 'observations', topic: 't' }], {
    ...{ person: new Person('5'), onKafka, clock: systemClock },
  })

const LINES: readonly Line[] = [
  [null, '4,1,1'],
  [null, '5,1,1'],
  [null, '6,5,1'],
]

describe('ratings in a Kafka topic that is not compacted', () => {
  it('are refused without a decision, and nothing changes', async () => {
    const topics = await topicOf(LINES, 'delete')
    await expect(forgetIn(topics)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    await expect(forgetIn(topics)).rejects.toThrow(/1 ratings by this user.*--on-kafka keep/)
    expect(await valuesIn(topics)).toHaveLength(3)
  })

  it('stay until the retention with "keep", which is said', async () => {
    const topics = await topicOf(LINES, 'delete')
    expect(await forgetIn(topics, 'keep')).toMatchObject([{ did: 'kept', count: 1 }])
    expect(await valuesIn(topics)).toHaveLength(3)
  })

  it('are said by partition, by offsets and by the time until which the retention keeps them', async () => {
    const lines: Line[] = [[null, '5,1,1'], ...LINES, [null, '5,2,2'], [null, '6,1,1']]
    const topics = await topicOf(lines, 'delete', 1e13)
    const range = { partition: 0, first: 0, last: 4, count: 3 }
    // The records are of the times 1 to 6 ms.
    expect((await forgetIn(topics, 'keep'))[0]?.left).toEqual([{ ...range, notBeforeMs: 1e13 + 5 }])
    const kept = await topicOf(lines, 'delete', -1)
    expect((await forgetIn(kept, 'keep'))[0]?.left).toEqual([{ ...range, notBeforeMs: null }])
  })

  it('go with all records before them with "delete-before", and those after stay', async () => {
    const topics = await topicOf(LINES, 'delete')
    expect(await forgetIn(topics, 'delete-before')).toMatchObject([{ did: 'deleted-before' }])
    expect(await valuesIn(topics)).toEqual(['6,5,1'])
  })

  it('need no decision where there are none', async () => {
    const topics = await topicOf([[null, '6,5,1']], 'delete')
    expect(await forgetIn(topics)).toMatchObject([{ count: 0 }])
  })
})

describe('ratings in a Kafka topic that is compacted', () => {
  it('get a tombstone for each key that is of this person alone', async () => {
    const topics = await topicOf(
      [
        ['5', '5,1,1'],
        ['4', '4,1,1'],
      ],
      'compact',
    )
    expect(await forgetIn(topics)).toMatchObject([{ did: 'tombstones', count: 1 }])
    expect((await valuesIn(topics)).at(-1)).toBe('no 5')
  })

  it('get one more where an earlier one is not compacted yet', async () => {
    const lines: Line[] = [
      ['5', '5,1,1'],
      ['5', null],
    ]
    expect(await forgetIn(await topicOf(lines, 'compact'))).toMatchObject([{ count: 1 }])
  })

  it.each([
    [
      'are refused where a key is of others, too',
      [
        ['item-1', '5,1,1'],
        ['item-1', '4,1,1'],
      ],
    ],
    ['are refused where they have no key', [[null, '5,1,1']]],
  ] as const)('%s', async (_name, lines) => {
    const topics = await topicOf(lines, 'compact')
    await expect(forgetIn(topics, 'delete-before')).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
    expect(await valuesIn(topics)).toHaveLength(lines.length)
  })
})
