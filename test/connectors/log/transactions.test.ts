import { describe, expect, it } from 'vitest'
import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'
import type { EmbeddedLogProducer } from '../../../src/connectors/log/producer.ts'
import { bytes, openLog, readAll, temporaryFolder } from './fixture.ts'

function sendAll(producer: EmbeddedLogProducer, prefix: string, count: number): void {
  for (let i = 0; i < count; i++) producer.send(bytes(`${prefix}${i}`), bytes('v'), 1)
}

async function visible(directory: string): Promise<number> {
  return (await readAll({ directory, topic: 't' })).length
}

describe('transactions', () => {
  it('show records when they are committed and never when aborted', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t', { partitions: 2 })
    const producer = log.producer('t')
    await producer.begin('x')
    sendAll(producer, 'a', 10)
    await producer.flush()
    expect(await visible(directory)).toBe(0)
    await producer.commit()
    expect(await visible(directory)).toBe(10)
    await producer.begin('x')
    sendAll(producer, 'b', 10)
    await producer.flush()
    await producer.abort()
    expect(await visible(directory)).toBe(10)
    expect(await readAll({ directory, topic: 't', isolation: 'read_uncommitted' })).toHaveLength(20)
  })

  it('skip exactly the aborted records of A10 C10 A20 C10 A40 by one producer', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t')
    const producer = log.producer('t', { batchBytes: 200 })
    for (const [count, commit] of [
      [10, false],
      [10, true],
      [20, false],
      [10, true],
      [40, false],
    ] as const) {
      await producer.begin('x')
      sendAll(producer, commit ? 'c' : 'a', count)
      await producer.flush()
      await (commit ? producer.commit() : producer.abort())
    }
    const keys = (await readAll({ directory, topic: 't' })).map((line) => line.split(' ')[1]![0])
    expect(keys).toEqual(Array(20).fill('c'))
  })

  it('stop read_committed readers at the oldest open one', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t')
    const slow = log.producer('t')
    const plain = log.producer('t')
    await slow.begin('slow')
    sendAll(slow, 's', 1)
    await slow.flush()
    sendAll(plain, 'p', 5)
    await plain.flush()
    expect(await visible(directory)).toBe(0)
    await slow.abort()
    expect(await visible(directory)).toBe(5)
  })

  it('fence the older producer of the same id', async () => {
    const log = await openLog(temporaryFolder())
    await log.createTopic('t')
    const old = log.producer('t')
    await old.begin('x')
    sendAll(old, 'a', 1)
    await old.flush()
    const young = log.producer('t')
    await young.begin('x')
    sendAll(old, 'a', 1)
    await expect(old.commit()).rejects.toMatchObject({ code: 'TRANSACTION_FENCED' })
  })

  it('can be committed by their handle after a restart, repeatedly, but not aborted after that', async () => {
    const directory = temporaryFolder()
    const first = await EmbeddedLog.open(directory)
    await first.createTopic('t', { partitions: 2 })
    const producer = first.producer('t')
    await producer.begin('x')
    sendAll(producer, 'a', 10)
    const handle = await producer.prepare()
    await first.close()
    const second = await openLog(directory)
    expect(await visible(directory)).toBe(0)
    await second.endTransaction(handle, true)
    await second.endTransaction(handle, true)
    expect(await visible(directory)).toBe(10)
    await expect(second.endTransaction(handle, false)).rejects.toMatchObject({
      code: 'INVALID_TRANSACTION',
    })
    await second.producer('t').begin('x')
    await second.endTransaction(handle, true)
    expect(await visible(directory)).toBe(10)
  })

  it('are refused with a code that a restart passes when the log has aborted them or removed their id', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t', { partitions: 1 })
    const producer = log.producer('t')
    await producer.begin('x')
    sendAll(producer, 'a', 1)
    const handle = await producer.prepare()
    await log.endTransaction(handle, false)
    producer.continueWith(handle)
    sendAll(producer, 'b', 1)
    await expect(producer.flush()).rejects.toMatchObject({ code: 'TRANSACTION_ABORTED' })
    const other = log.producer('t')
    other.continueWith({ transactionalId: 'removed', producerId: 9, epoch: 0 })
    sendAll(other, 'c', 1)
    await expect(other.flush()).rejects.toMatchObject({ code: 'TRANSACTION_ABORTED' })
  })

  it('are rejected for an unknown id', async () => {
    const log = await openLog(temporaryFolder())
    const unknown = { transactionalId: 'x', producerId: 1, epoch: 0 }
    await expect(log.endTransaction(unknown, true)).rejects.toMatchObject({
      code: 'INVALID_TRANSACTION',
    })
  })
})
