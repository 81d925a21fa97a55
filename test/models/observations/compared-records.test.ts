import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { comparedRecords, readRanges } from '../../../src/models/observations/compared-records.ts'
import { rangesOfTopic } from '../../../src/models/observations/topic-ranges.ts'

/** A topic of ratings, and what a training that read all of it has noted. */
async function trainedTopic() {
  const directory = fs.mkdtempSync(join(tmpdir(), 'weir-compared-'))
  onTestFinished(() => fs.rmSync(directory, { recursive: true, force: true }))
  const log = await EmbeddedLog.open(directory, { fsync: 'none' })
  onTestFinished(() => log.close())
  await log.createTopic('ratings')
  const producer = log.producer('ratings')
  for (let i = 0; i < 30; i++) {
    producer.send(null, new TextEncoder().encode(`${i % 3},${i},${1 + (i % 5)}`), 1)
  }
  await producer.flush()
  const topics = new LogTopics(directory)
  onTestFinished(() => topics[Symbol.asyncDispose]())
  // Without the id of the topic, as of a version of an earlier build: else another topic is told apart by that.
  const ranges = (await rangesOfTopic(topics, 'ratings')).map(({ topicId: _, ...range }) => range)
  const trained = await readRanges(topics, ranges, { kind: 'ratings' })
  const compare = async (part: 'all' | 'last') =>
    (await comparedRecords(topics, trained, { kind: 'ratings', part })).kind
  return { log, compare }
}

describe('the comparison of a topic with what a training read', () => {
  it('says that records were erased where offsets have none, and the topic is the same otherwise', async () => {
    const { log, compare } = await trainedTopic()
    expect(await compare('last')).toBe('same')
    await log.eraseRecords('ratings', 0, [1, 4, 7])
    expect([await compare('last'), await compare('all')]).toEqual(['erased', 'erased'])
  })

  it('says that it is another one where fewer ratings are there, and every offset has a record', async () => {
    const { log, compare } = await trainedTopic()
    await log.deleteTopic('ratings')
    await log.createTopic('ratings')
    const producer = log.producer('ratings')
    for (let i = 0; i < 30; i++) {
      producer.send(null, new TextEncoder().encode(i < 3 ? 'no rating' : `${i % 3},${i},1`), 1)
    }
    await producer.flush()
    expect(await compare('all')).toBe('other')
  })
})
