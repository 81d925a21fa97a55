import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EmbeddedLog } from '../../../../src/connectors/log/embedded-log.ts'
import { seededRandom } from '../../../../src/core/random.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'
import { until } from '../../../run/until.ts'
import { bytes, openLog, readAll, temporaryFolder } from '../fixture.ts'

async function send(log: EmbeddedLog, key: string, value: string | null): Promise<void> {
  const producer = log.producer('t')
  producer.send(bytes(key), value === null ? null : bytes(value), 1)
  await producer.flush()
}

const HOUR_MS = 3_600_000

const segmentFiles = (directory: string): string[] =>
  fs.readdirSync(join(directory, 't/0')).filter((name) => name.endsWith('.log'))

describe('compaction', () => {
  it('keeps the last value of each key at its offset and does not change the active segment', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    // Every batch has one record and is its own segment.
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
    await log.writer.clean()
    // c=1 stays, because the later value is in the active segment.
    expect(await readAll({ directory, topic: 't' })).toEqual([
      '0:1 b=1',
      '0:2 a=2',
      '0:3 c=1',
      '0:4 c=2',
    ])
    // The segment of a=1 holds no record any more, and none is before it.
    expect(log.bounds('t', 0)).toMatchObject({ logStart: 1, endOffset: 5 })
  })

  it('removes tombstones after their delay, and the records that they delete immediately', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    const config = { cleanupPolicy: 'compact', segmentBytes: 1, minCleanableRatio: 0 } as const
    await log.createTopic('t', { ...config, deleteRetentionMs: -1 })
    await send(log, 'a', '1')
    await send(log, 'a', null)
    await send(log, 'b', '1')
    await log.writer.clean()
    expect(await readAll({ directory, topic: 't' })).toEqual(['0:1 a=null', '0:2 b=1'])
    await send(log, 'c', '1')
    await log.writer.clean()
    expect(await readAll({ directory, topic: 't' })).toEqual(['0:2 b=1', '0:3 c=1'])
  })

  it('removes the files of segments without records, and a reader of an old offset goes on after them', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t', { cleanupPolicy: 'compact', segmentBytes: 1 })
    const files: number[] = []
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 10; i++) await send(log, `k${i % 3}`, `${round}.${i}`)
      await log.writer.clean()
      files.push(segmentFiles(directory).length)
    }
    expect(Math.max(...files)).toBeLessThan(10)
    const { logStart } = log.bounds('t', 0)
    expect(logStart).toBeGreaterThan(20)
    for (const start of [0, 7, logStart]) {
      const read = await readAll({ directory, topic: 't', start: { offsets: { 0: start } } })
      // 29 is in the active segment, which is not compacted, so 26 is the last k0 before it.
      expect(read).toEqual(['0:26 k0=2.6', '0:27 k1=2.7', '0:28 k2=2.8', '0:29 k0=2.9'])
    }
    await log.close()
    expect((await openLog(directory)).bounds('t', 0).logStart).toBe(logStart)
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
    await log.writer.clean()
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
  it('removes the oldest segments above the size and reports that to late readers', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t', { retentionBytes: 250, segmentBytes: 1 })
    for (let i = 0; i < 10; i++) await send(log, 'k', `${i}`)
    await log.writer.clean()
    const { logStart } = log.bounds('t', 0)
    expect(segmentFiles(directory)).toHaveLength(10 - logStart)
    expect(logStart).toBeGreaterThan(4)
    const reading = readAll({ directory, topic: 't', start: { offsets: { 0: 1 } } })
    await expect(reading).rejects.toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' })
    expect(await readAll({ directory, topic: 't' })).toHaveLength(10 - logStart)
  })

  it('bounds a topic by its time without waiting for a segment of full size', async () => {
    const directory = temporaryFolder()
    const clock = new ManualClock(1_000_000)
    const log = await openLog(directory, { clock })
    await log.createTopic('t', { retentionMs: 40_000 })
    for (let second = 0; second < 300; second++) {
      const producer = log.producer('t')
      producer.send(bytes('k'), bytes(`${second}`), clock.nowMs())
      await producer.flush()
      clock.advance(1_000)
      if (second % 10 === 0) await log.writer.clean()
    }
    const { logStart, endOffset } = log.bounds('t', 0)
    expect(endOffset).toBe(300)
    expect(endOffset - logStart).toBeGreaterThanOrEqual(40)
    expect(endOffset - logStart).toBeLessThanOrEqual(70)
  })

  it('bounds a topic by its time although each process is open for moments only', async () => {
    const directory = temporaryFolder()
    const clock = new ManualClock(1_000_000)
    const kept: number[] = []
    for (let hour = 0; hour < 100; hour++) {
      const log = await openLog(directory, { clock })
      await log.createTopic('t', { retentionMs: 40 * HOUR_MS })
      const producer = log.producer('t')
      producer.send(bytes('k'), bytes(`${hour}`), clock.nowMs())
      await producer.flush()
      await log.close()
      const { logStart, endOffset } = log.bounds('t', 0)
      kept.push(endOffset - logStart)
      clock.advance(HOUR_MS)
    }
    expect(Math.max(...kept)).toBeLessThanOrEqual(70)
    expect(kept.at(-1)).toBeGreaterThanOrEqual(40)
  })

  it('removes what is older than a short time within that time, also when no one writes', async () => {
    const directory = temporaryFolder()
    const clock = new ManualClock(1_000_000)
    const log = await openLog(directory, { clock })
    await log.createTopic('t', { retentionMs: 4_000 })
    const producer = log.producer('t')
    producer.send(bytes('k'), bytes('v'), clock.nowMs())
    await producer.flush()
    const { pending } = clock
    const keptAfter = async (seconds: number): Promise<number> => {
      for (let second = 0; second < seconds; second++) {
        clock.advance(1_000)
        // Each timer of the log is set again when its work is done, which takes a while on a busy machine.
        await until('the log has looked', () => clock.pending === pending)
      }
      const { logStart, endOffset } = log.bounds('t', 0)
      return endOffset - logStart
    }
    expect(await keptAfter(3)).toBe(1)
    expect(await keptAfter(6)).toBe(0)
    expect(segmentFiles(directory)).toHaveLength(1)
    producer.send(bytes('k'), bytes('w'), clock.nowMs())
    await producer.flush()
    expect(await readAll({ directory, topic: 't' })).toEqual(['0:1 k=w'])
  })

  it('compacts a small log that is open only for moments, as that of a registry', async () => {
    const directory = temporaryFolder()
    for (let i = 0; i < 20; i++) {
      const log = await EmbeddedLog.open(directory, { fsync: 'none' })
      await log.createTopic('t', { cleanupPolicy: 'compact', segmentBytes: 300 })
      await send(log, 'k', `${i}`.padStart(40))
      await log.close()
    }
    expect((await readAll({ directory, topic: 't' })).length).toBeLessThan(8)
  })
})
