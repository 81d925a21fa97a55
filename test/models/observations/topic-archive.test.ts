import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openLineFolder } from '../../../src/connectors/file/open-folder.ts'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import {
  TopicArchive,
  type TopicArchiveOptions,
} from '../../../src/models/observations/topic-archive.ts'

let folder: string
let topics: LogTopics

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-archive-'))
  topics = new LogTopics(join(folder, 'log'))
  await topics.create('events', { partitions: 2 })
})

afterEach(async () => {
  await topics[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const encoder = new TextEncoder()

/** Appends values to a partition, one a second from 1000 s on. */
async function append(partition: number, ...values: readonly (string | null)[]): Promise<void> {
  const producer = await topics.producer('events')
  for (const [n, value] of values.entries()) {
    const bytes = value === null ? null : encoder.encode(value)
    producer.sendRecord(encoder.encode('k'), bytes, 1_000_000 + n * 1000, partition, [])
  }
  await producer.sync()
  await producer.close()
}

const target = (): string => join(folder, 'archive')
const archiveOf = (more: Partial<TopicArchiveOptions> = {}): TopicArchive =>
  new TopicArchive({
    ...{ topics, topic: 'events', folder: openLineFolder(target()), format: 'lines' },
    ...more,
  })
const names = (): readonly string[] => readdirSync(target()).toSorted()
const lines = (): readonly string[] =>
  names()
    .filter((name) => name.startsWith('part-'))
    .flatMap((name) => readFileSync(join(target(), name), 'utf8').split('\n').slice(0, -1))

describe('an archive of a topic', () => {
  it('has each record once, in order by partition, and goes on after the last offset of its names', async () => {
    await append(0, 'a', 'b')
    await append(1, 'c')
    expect(await archiveOf().round()).toEqual({ records: 3, files: 2, leftOut: undefined })
    expect(lines()).toEqual(['a', 'b', 'c'])
    expect(names()[0]).toMatch(/^part-00000-0{20}-0{19}2-[0-9a-f]{8}\.txt$/)
    expect(await archiveOf().round()).toMatchObject({ records: 0, files: 0 })
    await append(0, 'd')
    expect(await archiveOf().round()).toMatchObject({ records: 1, files: 1 })
    expect(lines()).toEqual(['a', 'b', 'd', 'c'])
  })

  it('writes files of few offsets', async () => {
    await append(0, 'a', 'b', 'c', 'd', 'e')
    expect(await archiveOf({ mostOffsets: 2 }).round()).toMatchObject({ records: 5, files: 3 })
    expect(lines()).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('writes again what a killed attempt left unfinished', async () => {
    mkdirSync(target())
    writeFileSync(join(target(), '.pending-part-0.txt'), 'a\nb\nc of an attempt that was kill')
    await append(0, 'a', 'b')
    await archiveOf().round()
    expect(lines()).toEqual(['a', 'b'])
    expect(names()).toHaveLength(1)
  })

  it('leaves out what is no line, and says so', async () => {
    await append(0, null, 'one\n', 'two\nlines', '')
    const { records, leftOut } = await archiveOf().round()
    expect(lines()).toEqual(['one', ''])
    expect([records, leftOut]).toEqual([2, { count: 2, first: '0:0: it has no value' }])
    await append(1, null)
    expect(await archiveOf().round()).toMatchObject({ records: 0, files: 0 })
  })

  it('of ratings gives those without a time that of their record', async () => {
    await append(0, '1,2,3.5', '1,2,4,7', 'none', '"a,b",3,1')
    const { leftOut } = await archiveOf({ format: 'ratings' }).round()
    expect(lines()).toEqual(['1,2,3.5,1000', '1,2,4,7', '"a,b",3,1,1003'])
    expect(leftOut?.first).toContain('0:2: not a rating')
  })

  it('refuses the folder of another topic, also of one of the same name', async () => {
    await append(0, 'a')
    await archiveOf().round()
    await topics[Symbol.asyncDispose]()
    topics = new LogTopics(join(folder, 'other'))
    await topics.create('events', { partitions: 1 })
    await append(0, 'b', 'c')
    await expect(archiveOf().round()).rejects.toThrow('deleted and created again as events')
    expect(lines()).toEqual(['a'])
  })

  it('stops where another process archives into the folder', async () => {
    await append(0, 'a', 'b')
    const inner = openLineFolder(target())
    const slow = archiveOf({
      folder: Object.assign(Object.create(inner), {
        begin(name: string) {
          const output = inner.begin(`${name}.slow`)
          return Object.assign(Object.create(output), {
            async finish() {
              await output.finish()
              await archiveOf().round()
            },
            write: (text: string) => output.write(text),
            ready: () => true,
          })
        },
      }),
    })
    await expect(slow.round()).rejects.toThrow('another process has archived partition 0')
    expect(lines()).toEqual(['a', 'b'])
  })

  it('says what was removed before it was archived', async () => {
    await append(0, 'a', 'b')
    await archiveOf().round()
    await append(0, 'c')
    const gaps: (readonly number[])[] = []
    const bounds = topics.bounds.bind(topics)
    topics.bounds = async (topic) =>
      (await bounds(topic)).map((each) => (each.partition === 0 ? { ...each, start: 3 } : each))
    await append(0, 'd')
    await archiveOf({ onGap: (...gap) => gaps.push(gap) }).round()
    expect(gaps).toEqual([[0, 2, 3]])
    expect(lines()).toEqual(['a', 'b', 'd'])
  })
})
