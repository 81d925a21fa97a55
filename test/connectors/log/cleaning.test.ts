import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import { KeyOffsetMap } from '../../../src/connectors/log/key-offset-map.ts'
import { expiredSegments } from '../../../src/connectors/log/retention.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { bytes, openLog, readAll, temporaryFolder, text } from './log-fixture.ts'

async function send(log: EmbeddedLog, key: string, value: string | null): Promise<void> {
  const producer = log.producer('t')
  producer.send(bytes(key), value === null ? null : bytes(value), 1)
  await producer.flush()
}

const segmentFiles = (directory: string): string[] =>
  fs.readdirSync(join(directory, 't/0')).filter((name) => name.endsWith('.log'))

describe('compaction', () => {
  it('keeps the last value of each key at its offset and leaves the active segment alone', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    // Every batch of one record is a segment of its own.
    await log.createTopic('t', { cleanupPolicy: 'compact', segmentBytes: 1 })
    for (const [key, value] of [
      ['a', '1'],
      ['b', '1'],
      ['a', '2'],
      ['c', '1'],
      ['c', '2'],
    ] as const) {
      await send(log, key, value)
    }
    await log.backend.clean()
    // c=1 stays: the value that overrules it lies in the active segment.
    expect(await readAll({ directory, topic: 't' })).toEqual([
      '0:1 b=1',
      '0:2 a=2',
      '0:3 c=1',
      '0:4 c=2',
    ])
    expect(log.bounds('t', 0)).toMatchObject({ logStart: 0, endOffset: 5 })
  })

  it('removes tombstones after their delay and what they deleted at once', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    const config = { cleanupPolicy: 'compact', segmentBytes: 1, minCleanableRatio: 0 } as const
    await log.createTopic('t', { ...config, deleteRetentionMs: -1 })
    await send(log, 'a', '1')
    await send(log, 'a', null)
    await send(log, 'b', '1')
    await log.backend.clean()
    expect(await readAll({ directory, topic: 't' })).toEqual(['0:1 a=null', '0:2 b=1'])
    await send(log, 'c', '1')
    await log.backend.clean()
    expect(await readAll({ directory, topic: 't' })).toEqual(['0:2 b=1', '0:3 c=1'])
  })

  it('drops aborted records and keeps the rest of many segments readable from any offset', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t', { cleanupPolicy: 'compact', segmentBytes: 2_000 })
    const random = seededRandom(3)
    const last = new Map<string, string>()
    const producer = log.producer('t', { batchBytes: 400 })
    for (let i = 0; i < 60; i++) {
      await producer.begin('x')
      const commit = random.below(3) > 0
      for (let j = 0; j < 10; j++) {
        const key = `k${random.below(40)}`
        producer.send(bytes(key), bytes(`${i}.${j}`), i)
        if (commit) last.set(key, `${i}.${j}`)
      }
      await (commit ? producer.commit() : producer.abort())
    }
    const before = await readAll({ directory, topic: 't' })
    await log.backend.clean()
    const after = await readAll({ directory, topic: 't' })
    expect(after.length).toBeLessThan(before.length / 2)
    const folded = new Map<string, string>()
    for (const line of after) {
      const [key, value] = line.split(' ')[1]!.split('=')
      folded.set(key!, value!)
    }
    expect(folded).toEqual(last)
    for (let start = 0; start < log.bounds('t', 0).endOffset; start += 13) {
      const rest = after.filter((line) => Number(line.split(' ')[0]!.split(':')[1]) >= start)
      expect(await readAll({ directory, topic: 't', start: { offsets: { 0: start } } })).toEqual(
        rest,
      )
    }
  })
})

describe('retention', () => {
  it('removes the oldest segments above the size and says so to late readers', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t', { retentionBytes: 250, segmentBytes: 1 })
    for (let i = 0; i < 10; i++) await send(log, 'k', `${i}`)
    await log.backend.clean()
    const { logStart } = log.bounds('t', 0)
    expect(segmentFiles(directory)).toHaveLength(10 - logStart)
    expect(logStart).toBeGreaterThan(4)
    const reading = readAll({ directory, topic: 't', start: { offsets: { 0: 1 } } })
    await expect(reading).rejects.toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' })
    expect(await readAll({ directory, topic: 't' })).toHaveLength(10 - logStart)
  })

  it('counts by age and by size, and stops at an open transaction', () => {
    const segment = (maxTimestamp: number, undecided = false) => ({
      size: 100,
      maxTimestamp,
      undecided,
    })
    const closed = [segment(10), segment(20), segment(30)]
    const byAge = { retentionBytes: -1, retentionMs: 75 }
    expect(expiredSegments(closed, 50, byAge, 100)).toBe(2)
    expect(expiredSegments([segment(10), segment(20, true)], 50, byAge, 100)).toBe(1)
    expect(expiredSegments(closed, 50, { retentionBytes: 150, retentionMs: -1 }, 100)).toBe(2)
    expect(expiredSegments(closed, 50, { retentionBytes: -1, retentionMs: -1 }, 100)).toBe(0)
  })
})

describe('KeyOffsetMap', () => {
  it('equals a Map over many keys', () => {
    const random = seededRandom(5)
    const map = new KeyOffsetMap()
    const plain = new Map<string, number>()
    for (let i = 0; i < 50_000; i++) {
      const key = bytes(`key-${random.below(20_000)}`)
      map.set(key, 0, key.length, i)
      plain.set(text(key), i)
    }
    expect(map.size).toBe(plain.size)
    for (const [key, offset] of plain) {
      const encoded = bytes(key)
      if (map.get(encoded, 0, encoded.length) !== offset) expect.fail(`wrong offset of ${key}`)
    }
    expect(map.get(bytes('none'), 0, 4)).toBe(-1)
  })
})
