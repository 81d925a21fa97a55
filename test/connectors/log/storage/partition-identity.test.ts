import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkLog } from '../../../../src/connectors/log/check/log-check.ts'
import { repairLog } from '../../../../src/connectors/log/check/log-repair.ts'
import { EmbeddedLog } from '../../../../src/connectors/log/embedded-log.ts'
import {
  encodeIdentity,
  identityPath,
  readIdentity,
  requireOwnPlace,
} from '../../../../src/connectors/log/storage/partition-identity.ts'
import { topicBounds } from '../../../../src/connectors/log/storage/partition-status.ts'
import { readTopicConfig } from '../../../../src/connectors/log/storage/topic-config.ts'
import { nodeFileSystem } from '../../../../src/files/node-file-system.ts'
import { bytes, readAll, temporaryFolder } from '../fixture.ts'

/** A log with the topics `a` and `b` of two partitions each. */
async function write(): Promise<string> {
  const directory = temporaryFolder()
  const log = await EmbeddedLog.open(directory)
  for (const topic of ['a', 'b']) {
    await log.createTopic(topic, { partitions: 2 })
    const producer = log.producer(topic)
    for (let i = 0; i < 8; i++) producer.send(bytes(`key ${i}`), bytes(`${topic} ${i}`), 1)
    await producer.flush()
  }
  await log.close()
  return directory
}

const written = (topic: string): string[] => Array.from({ length: 8 }, (_, i) => `${topic} ${i}`)

function swap(directory: string, first: string, second: string): void {
  const [one, two] = [join(directory, first), join(directory, second)]
  fs.renameSync(one, `${one}-moved`)
  fs.renameSync(two, one)
  fs.renameSync(`${one}-moved`, two)
}

const idOf = (directory: string, topic: string): string => readTopicConfig(directory, topic).id
const damaged = (directory: string): string[] =>
  [...checkLog(directory)].filter(({ damage }) => damage !== undefined).map(({ file }) => file)

describe('the folder of a partition', () => {
  it('says which partition of which topic it is, in these bytes', async () => {
    const text =
      '{"version":1,"topic":"clicks","id":"8f14e45fceea167a","partition":3,"crc32":4142387640}'
    const identity = { topic: 'clicks', id: '8f14e45fceea167a', partition: 3 }
    expect(new TextDecoder().decode(encodeIdentity(identity))).toBe(text)
    const directory = await write()
    for (const [topic, partition] of [
      ['a', 0],
      ['b', 1],
    ] as const) {
      const found = readIdentity(nodeFileSystem, join(directory, topic, String(partition)))
      expect(found).toEqual({ topic, id: idOf(directory, topic), partition })
    }
  })

  it.each([
    ['another partition of its topic', 'a/0', 'a/1'],
    ['a partition of another topic', 'a/1', 'b/1'],
  ])(
    'is refused in the place of %s, by readers, writers and checks, with both names',
    async (_, first, second) => {
      const directory = await write()
      const [id, other] = [idOf(directory, 'a'), idOf(directory, second[0]!)]
      swap(directory, first, second)
      const found = `partition ${second[2]} of topic "${second[0]}" (id ${other})`
      const place = `partition ${first[2]} of topic "a" (id ${id})`
      const both = new RegExp(
        `${first} holds ${escaped(found)}, and its place is that of ${escaped(place)}.*move it back to .*/${second},`,
      )
      const refusal = expect.objectContaining({
        code: 'MALFORMED_DATA',
        message: expect.stringMatching(both),
      })
      expect(() => requireOwnPlace(nodeFileSystem, join(directory, first))).toThrow(refusal)
      expect(() => topicBounds(directory, 'a')).toThrow(refusal)
      await expect(readAll({ directory, topic: 'a' })).rejects.toThrow(
        /a copy or a move has mixed up/,
      )
      const files = [first, second].map((path) => identityPath(join(directory, path)))
      expect(damaged(directory)).toEqual(files)
      const warnings: string[] = []
      const log = await EmbeddedLog.open(directory, { warn: (message) => warnings.push(message) })
      expect(warnings[0]).toMatch(/^.*holds partition/)
      const producer = log.producer('a')
      for (let i = 0; i < 8; i++) producer.send(bytes(`key ${i}`), bytes('v'), 1)
      await expect(producer.flush()).rejects.toThrow(/a copy or a move has mixed up/)
      expect(() => log.reader('a', Number(first[2]))).toThrow(refusal)
      await log.close().catch(() => undefined)
      for await (const { advice } of repairLog(directory, { topic: undefined, apply: true })) {
        expect(advice).toMatch(/^move the folder back/)
      }
      swap(directory, first, second)
      expect(damaged(directory)).toEqual([])
      const values = (await readAll({ directory, topic: 'a' })).map(
        (record) => record.split('=')[1],
      )
      expect(values).toEqual(expect.arrayContaining(written('a')))
      expect(values).not.toContain('b 1')
    },
  )

  it('of an earlier build gets its name when it is first opened for writing, and is read before', async () => {
    const directory = await write()
    for (const path of ['a/0', 'a/1', 'b/0', 'b/1']) fs.rmSync(identityPath(join(directory, path)))
    expect(await readAll({ directory, topic: 'a' })).toHaveLength(8)
    expect(damaged(directory)).toEqual([])
    await (await EmbeddedLog.open(directory)).close()
    swap(directory, 'a/0', 'a/1')
    await expect(readAll({ directory, topic: 'a' })).rejects.toThrow(
      /holds partition 1 of topic "a"/,
    )
  })

  it('keeps its place when the folder of its topic is renamed or the log is copied', async () => {
    const directory = await write()
    fs.renameSync(join(directory, 'a'), join(directory, 'c'))
    expect(await readAll({ directory, topic: 'c' })).toHaveLength(8)
    const copy = join(temporaryFolder(), 'copy')
    fs.cpSync(directory, copy, { recursive: true })
    await (await EmbeddedLog.open(copy)).close()
    expect(await readAll({ directory: copy, topic: 'b' })).toHaveLength(8)
  })

  it('gives its topic the id back that a topic.json written by hand does not have', async () => {
    const directory = await write()
    const id = idOf(directory, 'a')
    fs.writeFileSync(join(directory, 'a/topic.json'), '{"version":1,"partitions":2}')
    await (await EmbeddedLog.open(directory)).close()
    expect(idOf(directory, 'a')).toBe(id)
  })

  it('with a damaged name is refused, and the repair writes it again', async () => {
    const directory = await write()
    const file = identityPath(join(directory, 'a/0'))
    const content = fs.readFileSync(file)
    content[12]! ^= 1
    fs.writeFileSync(file, content)
    expect(damaged(directory)).toEqual([file])
    await expect(readAll({ directory, topic: 'a' })).rejects.toThrow(/run "weir log repair"/)
    for await (const repair of repairLog(directory, { topic: undefined, apply: true })) {
      expect(repair).toEqual({ file, saved: `${file}.damaged`, lost: [] })
    }
    expect(damaged(directory)).toEqual([])
    expect(await readAll({ directory, topic: 'a' })).toHaveLength(8)
  })

  it('of a later build is refused by its version', () => {
    const directory = temporaryFolder()
    const fields = { version: 2, topic: 'a', id: 'x', partition: 0 }
    const crc32 = 58404453
    fs.writeFileSync(identityPath(directory), JSON.stringify({ ...fields, crc32 }))
    expect(() => readIdentity(nodeFileSystem, directory)).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED_VERSION' }),
    )
  })
})

const escaped = (text: string): string => text.replace(/[()]/g, '\\$&')
