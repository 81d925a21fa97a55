import * as fs from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import {
  decodeTopicFile,
  logIdOf,
  readTopicConfig,
  topicConfig,
  writeTopicConfig,
} from '../../../../src/connectors/log/storage/topic-config.ts'
import { nodeFileSystem } from '../../../../src/files/node-file-system.ts'
import { openLog, temporaryFolder } from '../fixture.ts'

const FIELDS =
  '"partitions":2,"cleanupPolicy":"delete","retentionBytes":-1,"retentionMs":-1,"segmentBytes":134217728,"deleteRetentionMs":86400000,"minCleanableRatio":0.5'

/** The file of a topic of an earlier build. */
function writeOld(directory: string, topic: string, version: 1 | 2): void {
  const content = `{"version":${version},${FIELDS}}`
  const stored = version === 1 ? content : `${content.slice(0, -1)},"crc32":${crc32(content)}}`
  fs.mkdirSync(join(directory, topic), { recursive: true })
  fs.writeFileSync(join(directory, topic, 'topic.json'), stored)
}

describe("a topic's file", () => {
  it('has the id before the configuration, and a checksum over both', () => {
    const folder = temporaryFolder()
    writeTopicConfig(nodeFileSystem, folder, { ...topicConfig({ partitions: 2 }), id: 'abc' })
    const text = fs.readFileSync(join(folder, 'topic.json'), 'utf8')
    const content = `{"version":2,"id":"abc",${FIELDS}}`
    expect(JSON.stringify(JSON.parse(text))).toBe(
      `${content.slice(0, -1)},"crc32":${crc32(content)}}`,
    )
    expect(decodeTopicFile('f', Buffer.from(text))).toMatchObject({ id: 'abc', partitions: 2 })
    const changed = Buffer.from(text.replace('abc', 'abd'))
    expect(() => decodeTopicFile('f', changed)).toThrow(/differs from its checksum/)
  })

  it.each([1, 2] as const)('has no id in version %i of an earlier build', (version) => {
    const directory = temporaryFolder()
    writeOld(directory, 't', version)
    expect(readTopicConfig(directory, 't')).toEqual({ ...topicConfig({ partitions: 2 }), id: '' })
  })

  /** The file of a topic whose content has these fields besides, with its checksum. */
  const fileWith = (fields: string): Buffer => {
    const content = `{"version":2,"id":"abc",${FIELDS},${fields}}`
    return Buffer.from(`${content.slice(0, -1)},"crc32":${crc32(content)}}`)
  }

  it('may have a field of a later build, which is left out', () => {
    const { id, ...config } = decodeTopicFile('f', fileWith('"tier":{"after":"7 d"}'))
    expect(config).toEqual(topicConfig({ partitions: 2 }))
    expect(id).toBe('abc')
  })

  it.each(['"partitions":0', '"cleanupPolicy":"compat"', '"segmentBytes":"128 mb"'])(
    'is damaged if a field has a value that it cannot have: %s',
    (field) => {
      // The later one of two equal names counts, also for the checksum.
      const content = JSON.stringify(JSON.parse(`{"version":2,"id":"abc",${FIELDS},${field}}`))
      const file = Buffer.from(`${content.slice(0, -1)},"crc32":${crc32(content)}}`)
      expect(() => decodeTopicFile('log/t/topic.json', file)).toThrow(
        expect.objectContaining({
          code: 'MALFORMED_DATA',
          message: expect.stringContaining('log/t/topic.json is damaged'),
        }),
      )
    },
  )

  it('is refused if its id is no text', () => {
    const file = Buffer.from(`{"version":1,"id":7,${FIELDS}}`)
    expect(() => decodeTopicFile('f', file)).toThrow(/its id is no text/)
  })
})

describe('the id of a topic', () => {
  /** Ids in order, for the log of a test. */
  const counting = (): (() => string) => {
    let next = 0
    return () => `id-${next++}`
  }

  it('is given at the next opening of the log to a topic of an earlier build, and stays', async () => {
    const directory = temporaryFolder()
    for (const version of [1, 2] as const) writeOld(directory, `v${version}`, version)
    const first = await openLog(directory, { newId: counting() })
    const ids = ['v1', 'v2'].map((topic) => first.describe(topic).id)
    expect(new Set([...ids, logIdOf(directory)]).size).toBe(3)
    await first.close()
    const second = await openLog(directory, { newId: () => 'other' })
    expect(['v1', 'v2'].map((topic) => second.describe(topic).id)).toEqual(ids)
    expect(second.describe('v1')).toMatchObject(topicConfig({ partitions: 2 }))
  })

  it('stays when partitions are added, and is another one after the topic was created again', async () => {
    const log = await openLog(temporaryFolder(), { newId: counting() })
    await log.createTopic('t')
    const { id } = log.describe('t')
    expect(id).not.toBe('')
    await log.createTopic('t')
    await log.setPartitions('t', 3)
    expect(log.describe('t')).toMatchObject({ id, partitions: 3 })
    await log.deleteTopic('t')
    await log.createTopic('t')
    expect(log.describe('t').id).not.toBe(id)
  })

  it("is not copied with another topic's configuration", async () => {
    const log = await openLog(temporaryFolder(), { newId: counting() })
    await log.createTopic('a')
    const { id, ...config } = log.describe('a')
    await expect(log.createTopic('b', log.describe('a'))).rejects.toThrow(/id/)
    await log.createTopic('b', config)
    expect(log.describe('b').id).not.toBe(id)
  })

  it('is missing, with a warning, where the file cannot be written', async () => {
    const directory = temporaryFolder()
    const warnings: string[] = []
    const newId = (): string => {
      throw new Error('disk full')
    }
    await (await openLog(directory)).close()
    writeOld(directory, 't', 2)
    const log = await openLog(directory, { newId, warn: (message) => warnings.push(message) })
    expect(log.describe('t').id).toBe('')
    expect(warnings).toEqual(['topic "t" got no id (disk full); the next opening tries again'])
  })
})
