import { describe, expect, it } from 'vitest'
import { visitStored } from '../../../src/connectors/log/stored-records.ts'
import { bytes, openLog, temporaryFolder, text } from './fixture.ts'

describe('a visit of stored records', () => {
  it('sees those of open and aborted transactions, no markers, and the offsets that were erased', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t')
    const producer = log.producer('t')
    for (const value of ['0', '1', '2', '3']) producer.send(null, bytes(value), 1)
    await producer.flush()
    await log.eraseRecords('t', 0, [0, 2, 3])
    for (const end of ['abort', 'leave'] as const) {
      await producer.begin(end)
      producer.send(null, bytes(end), 1)
      await producer.flush()
      if (end === 'abort') await producer.abort()
    }
    const seen: string[] = []
    const erased: number[] = []
    await visitStored(directory, 't', {
      record: (record) => seen.push(text(record.value())),
      erased: (_partition, offset) => erased.push(offset),
    })
    expect(seen).toEqual(['1', 'abort', 'leave'])
    expect(erased).toEqual([0, 2, 3])
    await producer.abort()
  })

  it('ends also for one who asks for records alone', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t')
    const producer = log.producer('t')
    for (const value of ['0', '1', '2']) producer.send(null, bytes(value), 1)
    await producer.flush()
    await log.eraseRecords('t', 0, [0, 2])
    let seen = 0
    await visitStored(directory, 't', { record: () => seen++ })
    expect(seen).toBe(1)
  })
})
