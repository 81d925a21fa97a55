import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import { bytes, openLog, readAll, temporaryFolder } from './fixture.ts'

describe('EmbeddedLog', () => {
  it('keeps records in order across a restart', async () => {
    const directory = temporaryFolder()
    const first = await EmbeddedLog.open(directory)
    await first.createTopic('t', { partitions: 1 })
    const producer = first.producer('t')
    producer.send(bytes('a'), bytes('1'), 10)
    await producer.flush()
    producer.send(bytes('b'), null, 11)
    await producer.flush()
    await first.close()
    const second = await openLog(directory)
    expect(second.topics()).toEqual(['t'])
    const again = second.producer('t')
    again.send(null, bytes('3'), 12)
    await again.flush()
    expect(await readAll({ directory, topic: 't' })).toEqual([
      '0:0 a=1',
      '0:1 b=null',
      '0:2 null=3',
    ])
  })

  it('rolls segments and reads across them and through the index', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t', { segmentBytes: 200_000 })
    const producer = log.producer('t', { batchBytes: 10_000 })
    for (let i = 0; i < 1_000; i++) producer.send(null, new Uint8Array(1_000).fill(i), i)
    await producer.flush()
    const segments = fs.readdirSync(join(directory, 't/0')).filter((name) => name.endsWith('.log'))
    expect(segments.length).toBeGreaterThan(4)
    expect(await readAll({ directory, topic: 't' })).toHaveLength(1_000)
    for (const start of [0, 1, 137, 500, 998]) {
      const rest = await readAll({ directory, topic: 't', start: { offsets: { 0: start } } })
      expect(rest).toHaveLength(1_000 - start)
      const since = await readAll({ directory, topic: 't', start: { timestamp: start } })
      expect(since).toHaveLength(1_000 - start)
    }
  })

  it('writes the appends of one turn together and gives each its offset', async () => {
    const log = await openLog(temporaryFolder(), { fsync: 'every-batch' })
    await log.createTopic('t')
    const producers = Array.from({ length: 20 }, () => log.producer('t'))
    await Promise.all(
      producers.map((producer) => {
        producer.send(null, bytes('x'), 1)
        return producer.flush()
      }),
    )
    expect(log.bounds('t', 0).endOffset).toBe(20)
  })

  it('rejects unknown topics and partitions, other partition counts and bad names', async () => {
    const log = await openLog(temporaryFolder())
    await log.createTopic('t', { partitions: 2 })
    await log.createTopic('t', { partitions: 2 })
    await expect(log.createTopic('t', { partitions: 3 })).rejects.toMatchObject({
      code: 'TOPIC_EXISTS',
    })
    await expect(log.createTopic('a/b')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect(() => log.producer('nope')).toThrow(/create it first/)
    expect(() => log.producer('t').send(null, null, 1, { partition: 2 })).toThrow(/no partition 2/)
  })

  it('adds partitions and deletes topics', async () => {
    const log = await openLog(temporaryFolder())
    await log.createTopic('t', { partitions: 1 })
    await log.setPartitions('t', 3)
    expect(log.describe('t').partitions).toBe(3)
    await log.deleteTopic('t')
    expect(log.topics()).toEqual([])
  })

  it('is shared by all its users in one thread, and closed with the last one', async () => {
    const directory = temporaryFolder()
    const one = await EmbeddedLog.open(directory)
    const two = await EmbeddedLog.open(directory)
    await one.createTopic('t')
    await one.close()
    const producer = two.producer('t')
    producer.send(null, bytes('v'), 1)
    await producer.flush()
    expect(fs.existsSync(join(directory, '.lock'))).toBe(true)
    await two.close()
    expect(fs.existsSync(join(directory, '.lock'))).toBe(false)
  })

  it('is locked while another process runs that writes it, and taken over when that has ended', async () => {
    const directory = temporaryFolder()
    const lock = join(directory, '.lock')
    fs.writeFileSync(lock, JSON.stringify({ pid: process.ppid, processStart: '', threadId: 0 }))
    const opening = EmbeddedLog.open(directory, { ownerWaitMs: 0 })
    await expect(opening).rejects.toMatchObject({ code: 'LOG_LOCKED' })
    fs.writeFileSync(lock, JSON.stringify({ pid: 2 ** 22 + 1, processStart: '1', threadId: 0 }))
    await openLog(directory)
    fs.rmSync(lock)
  })
})
