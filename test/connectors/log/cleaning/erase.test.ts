import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkLog } from '../../../../src/connectors/log/check/log-check.ts'
import type { EmbeddedLog } from '../../../../src/connectors/log/embedded-log.ts'
import { RecordBatchReader } from '../../../../src/wire/batch/record-batch-reader.ts'
import { bytes, openLog, readAll, temporaryFolder } from '../fixture.ts'

/** Sends values as one batch. */
async function send(log: EmbeddedLog, values: readonly string[], codec?: 'gzip'): Promise<void> {
  const producer = log.producer('t', codec === undefined ? {} : { codec })
  for (const value of values) producer.send(null, bytes(value), 1)
  await producer.flush()
}

const valuesIn = async (directory: string): Promise<string[]> =>
  await readAll({ directory, topic: 't' })

/** Whether a text is anywhere in the files of the log's topic. */
function isInFiles(directory: string, text: string): boolean {
  const folder = join(directory, 't/0')
  return fs.readdirSync(folder).some((name) => fs.readFileSync(join(folder, name)).includes(text))
}

describe('eraseRecords', () => {
  it('takes single records out of a topic that keeps all, and all others keep their offsets', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t')
    await send(log, ['one', 'SECRET-1', 'three'])
    await send(log, ['SECRET-2'])
    await send(log, ['five', 'six'])
    expect(await log.eraseRecords('t', 0, [1, 3])).toBe(2)
    expect(await valuesIn(directory)).toEqual([
      '0:0 null=one',
      '0:2 null=three',
      '0:4 null=five',
      '0:5 null=six',
    ])
    expect(isInFiles(directory, 'SECRET')).toBe(false)
    expect(log.bounds('t', 0)).toMatchObject({ logStart: 0, endOffset: 6 })
    await send(log, ['seven'])
    expect((await valuesIn(directory)).at(-1)).toBe('0:6 null=seven')
  })

  it('erases nothing the second time, and writes no segment again', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t')
    await send(log, ['one', 'two'])
    expect(await log.eraseRecords('t', 0, [0])).toBe(1)
    const { generation } = log.bounds('t', 0)
    expect(await log.eraseRecords('t', 0, [0, 7, 99])).toBe(0)
    expect(log.bounds('t', 0).generation).toBe(generation)
  })

  it('leaves a log that opens again, and in which a check finds nothing', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t', { segmentBytes: 200 })
    for (let i = 0; i < 20; i++) await send(log, [`a${i}`, `b${i}`], 'gzip')
    const offsets = Array.from({ length: 40 }, (_, i) => i).filter((i) => i % 3 === 0 || i < 6)
    expect(await log.eraseRecords('t', 0, offsets)).toBe(offsets.length)
    await log.close()
    const again = await openLog(directory)
    expect(await valuesIn(directory)).toHaveLength(40 - offsets.length)
    expect(again.bounds('t', 0).endOffset).toBe(40)
    await again.close()
    expect([...checkLog(directory)].filter(({ damage }) => damage !== undefined)).toEqual([])
  })

  it('lets a reader that is in the middle of an erased segment go on with the next record', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t')
    for (let i = 0; i < 6; i++) await send(log, [`v${i}`])
    const reader = log.reader('t', 0)
    const first = await reader.fetch(0, new Uint8Array(70_000))
    expect(first?.nextOffset).toBe(6)
    await log.eraseRecords('t', 0, [1, 4])
    await send(log, ['v6'])
    const records = new RecordBatchReader()
    const seen: number[] = []
    for (let offset = 3; ; ) {
      const fetched = await reader.fetch(offset, new Uint8Array(70_000))
      if (fetched === undefined) break
      for (let at = 0; at < fetched.end; ) {
        at = records.open(fetched.bytes, at)
        while (records.next()) if (records.offset >= offset) seen.push(records.offset)
      }
      offset = fetched.nextOffset
    }
    reader.close()
    expect(seen).toEqual([3, 5, 6])
  })

  it('erases also what an aborted transaction has left, and what it aborted stays invisible', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t')
    const producer = log.producer('t')
    await producer.begin('tx')
    producer.send(null, bytes('SECRET'), 1)
    producer.send(null, bytes('aborted'), 1)
    await producer.flush()
    await producer.abort()
    await send(log, ['kept'])
    expect(await log.eraseRecords('t', 0, [0])).toBe(1)
    expect(isInFiles(directory, 'SECRET')).toBe(false)
    expect(isInFiles(directory, 'aborted')).toBe(true)
    expect((await valuesIn(directory)).map((line) => line.split('=')[1])).toEqual(['kept'])
  })

  it('leaves no segment that holds back the retention of those behind it', async () => {
    const directory = temporaryFolder()
    const kept = { retentionMs: 3_600_000, segmentBytes: 1 }
    const first = await openLog(directory, { cleanIntervalMs: Number.POSITIVE_INFINITY })
    await first.createTopic('t', kept)
    // Of the year 1970.
    for (const value of ['one', 'two', 'three']) await send(first, [value])
    await first.eraseRecords('t', 0, [0])
    await first.close()
    const log = await openLog(directory, { cleanIntervalMs: Number.POSITIVE_INFINITY })
    await log.writer.clean()
    expect(log.bounds('t', 0).logStart).toBe(3)
  })

  it('refuses what lies behind the start of an open transaction', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t')
    const producer = log.producer('t')
    await producer.begin('tx')
    producer.send(null, bytes('open'), 1)
    await producer.flush()
    await expect(log.eraseRecords('t', 0, [0])).rejects.toMatchObject({ code: 'ILLEGAL_STATE' })
    await producer.commit()
    expect(await log.eraseRecords('t', 0, [0])).toBe(1)
  })
})
