import * as fs from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { checkLog } from '../../../../src/connectors/log/check/log-check.ts'
import { repairLog } from '../../../../src/connectors/log/check/log-repair.ts'
import { EmbeddedLog } from '../../../../src/connectors/log/embedded-log.ts'
import { readIdentity } from '../../../../src/connectors/log/storage/partition-identity.ts'
import { statusPath } from '../../../../src/connectors/log/storage/partition-status.ts'
import { nodeFileSystem } from '../../../../src/files/node-file-system.ts'
import { NO_MARK, placeBatch } from '../../../../src/wire/batch/position-checksum.ts'
import { baseOffsetOf, batchSizeAt } from '../../../../src/wire/batch/record-batch-format.ts'
import { bytes, readAll, temporaryFolder } from '../fixture.ts'

/** Values of one length, so that the files of two partitions have the same sizes and offsets. */
const recordOf = (topic: string, partition: number, i: number): string =>
  `${topic}${partition}-${String(i).padStart(2, '0')}`

/** A log with topics `a` and `b` of two partitions, each with several segments. */
async function write(): Promise<string> {
  const directory = temporaryFolder()
  const log = await EmbeddedLog.open(directory)
  for (const topic of ['a', 'b']) {
    await log.createTopic(topic, { partitions: 2, segmentBytes: 300 })
    await appendTo(log, topic, 0)
  }
  await log.close()
  return directory
}

async function appendTo(log: EmbeddedLog, topic: string, from: number): Promise<void> {
  const producer = log.producer(topic)
  for (let i = from; i < from + 12; i++) {
    for (const partition of [0, 1]) {
      producer.send(null, bytes(recordOf(topic, partition, i)), 1, { partition })
      await producer.flush()
    }
  }
}

function segments(directory: string, partition: string): string[] {
  const folder = join(directory, partition)
  const names = fs.readdirSync(folder).filter((name) => name.endsWith('.log'))
  return names.sort().map((name) => join(folder, name))
}

function swap(one: string, two: string): void {
  expect(fs.statSync(one).size).toBe(fs.statSync(two).size)
  fs.renameSync(one, `${one}-moved`)
  fs.renameSync(two, one)
  fs.renameSync(`${one}-moved`, two)
}

const damage = (directory: string): { readonly file: string; readonly reason: string }[] =>
  [...checkLog(directory)].flatMap(({ file, damage: found }) =>
    found === undefined ? [] : [{ file, reason: found.reason }],
  )

const idOf = (directory: string, partition: string): string =>
  readIdentity(nodeFileSystem, join(directory, partition))!.id

describe('segments of equal sizes that a copy has swapped', () => {
  it.each([
    ['closed, of two partitions of a topic', 'a/0', 'a/1', 1],
    ['closed, of two topics', 'a/0', 'b/0', 0],
    ['active, of two partitions of a topic', 'a/0', 'a/1', -1],
    ['active, of two topics', 'a/1', 'b/1', -1],
  ])('are named by `log check` and refused by readers: %s', async (_, first, second, which) => {
    const directory = await write()
    const [one, two] = [segments(directory, first), segments(directory, second)]
    expect(one.length).toBeGreaterThan(2)
    const [left, right] = [one.at(which)!, two.at(which)!]
    swap(left, right)
    const saysOf = (partition: string): string => {
      const [topic, number] = partition.split('/')
      return `its records are those of partition ${number} of topic "${topic}" (id ${idOf(directory, partition)})`
    }
    expect(damage(directory)).toEqual([
      { file: left, reason: expect.stringContaining(saysOf(second)) },
      { file: right, reason: expect.stringContaining(saysOf(first)) },
    ])
    await expect(readAll({ directory, topic: first[0]! })).rejects.toMatchObject({
      code: 'CHECKSUM_MISMATCH',
      message: expect.stringContaining('is of another partition'),
    })
  })

  it('of one partition are named, too: their offsets are others', async () => {
    const directory = await write()
    const [one, two] = segments(directory, 'a/0')
    swap(one!, two!)
    expect(damage(directory).map(({ file }) => file)).toEqual([one, two])
    await expect(readAll({ directory, topic: 'a' })).rejects.toMatchObject({
      code: 'MALFORMED_DATA',
    })
  })

  it('are neither cut off by an opening nor given up by a repair, and are whole when moved back', async () => {
    const directory = await write()
    const [left, right] = [segments(directory, 'a/0').at(-1)!, segments(directory, 'a/1').at(-1)!]
    swap(left, right)
    const before = [left, right].map((file) => fs.readFileSync(file))
    const warnings: string[] = []
    const log = await EmbeddedLog.open(directory, { warn: (said) => warnings.push(said) })
    const producer = log.producer('a')
    const sent = (async () => {
      producer.send(null, bytes('more'), 1, { partition: 0 })
      await producer.flush()
    })()
    await expect(sent).rejects.toMatchObject({
      code: 'MALFORMED_DATA',
      message: expect.stringContaining('its records are those of partition 1 of topic "a"'),
    })
    await log.close().catch(() => {})
    const advice: (string | undefined)[] = []
    for await (const repair of repairLog(directory, { topic: undefined, apply: true })) {
      advice.push(repair.advice)
    }
    expect(advice).toEqual([
      expect.stringContaining('move it back to its place'),
      expect.stringContaining('move it back to its place'),
    ])
    expect([left, right].map((file) => fs.readFileSync(file))).toEqual(before)
    swap(left, right)
    expect(damage(directory)).toEqual([])
    expect(await readAll({ directory, topic: 'a' })).toHaveLength(24)
  })
})

/** Makes a log as an earlier release left it: no marks in the batches, and statuses of version 1. */
function withoutMarks(directory: string): void {
  for (const partition of ['a/0', 'a/1', 'b/0', 'b/1']) {
    for (const file of segments(directory, partition)) {
      const batches = fs.readFileSync(file)
      for (let at = 0; at < batches.length; at += batchSizeAt(batches, at, batches.length)) {
        placeBatch(batches, at, { baseOffset: baseOffsetOf(batches, at), mark: NO_MARK })
      }
      fs.writeFileSync(file, batches)
    }
    const path = statusPath(join(directory, partition))
    const status = fs.readFileSync(path)
    status.writeUInt16LE(1, 4)
    status.writeUInt32LE(crc32(status.subarray(0, 60)), 60)
    fs.writeFileSync(path, status)
  }
}

it('a log of an earlier release, without marks, is whole, is read, and goes on with marks', async () => {
  const directory = await write()
  withoutMarks(directory)
  expect(damage(directory)).toEqual([])
  expect(await readAll({ directory, topic: 'a' })).toHaveLength(24)
  const log = await EmbeddedLog.open(directory)
  await appendTo(log, 'a', 12)
  await log.close()
  expect(damage(directory)).toEqual([])
  const all = (await readAll({ directory, topic: 'a' })).map((line) => line.split('=')[1])
  const each = (partition: number) =>
    Array.from({ length: 24 }, (_, i) => recordOf('a', partition, i))
  expect(all.toSorted()).toEqual([...each(0), ...each(1)].toSorted())
  swap(segments(directory, 'a/0').at(-1)!, segments(directory, 'a/1').at(-1)!)
  expect(damage(directory)).toHaveLength(2)
})
