import { describe, expect, it } from 'vitest'
import { PartitionReader } from '../../../../src/connectors/log/storage/partition-reader.ts'
import { LocalLogWriter } from '../../../../src/connectors/log/writer/local-log-writer.ts'
import { LogSession } from '../../../../src/connectors/log/writer/log-session.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'
import { RecordBatchWriter } from '../../../../src/wire/batch/record-batch-writer.ts'
import { SimulatedDisk } from '../../../disk/simulated-disk.ts'
import { SimulatedMount } from '../../../disk/simulated-mount.ts'

function batch(value: string): Uint8Array<ArrayBuffer> {
  const writer = new RecordBatchWriter(256)
  writer.append(null, new TextEncoder().encode(value), 1)
  return writer.take()
}

async function openWriter(): Promise<{ disk: SimulatedDisk; writer: LocalLogWriter }> {
  const disk = new SimulatedDisk(1)
  const writer = await LocalLogWriter.open(
    '/log',
    { files: new SimulatedMount(disk), clock: new ManualClock(1000), cleanIntervalMs: 1e9 },
    { announce: () => {}, close: () => {} },
  )
  return { disk, writer }
}

describe('a session of the log', () => {
  it('works again after the disk was full, while another session holds the log', async () => {
    const { disk, writer } = await openWriter()
    const holder = await LogSession.open(writer)
    await holder.createTopic('t', {})
    await holder.append('t', 0, batch('a'))
    disk.full = true
    await expect(holder.append('t', 0, batch('lost'))).rejects.toMatchObject({ code: 'DISK_FULL' })
    disk.full = false
    await expect(holder.append('t', 0, batch('b'))).rejects.toThrow(/open it again/)
    const next = await LogSession.open(writer)
    expect(await next.append('t', 0, batch('b'))).toBe(1)
    await next.sync('t')
    const reader = new PartitionReader('/log/t/0', { files: new SimulatedMount(disk) })
    expect(reader.status().endOffset).toBe(2)
    reader.close()
    await writer.close()
  })

  it('never syncs a partition that has failed since it began', async () => {
    const { disk, writer } = await openWriter()
    const before = await LogSession.open(writer)
    await before.createTopic('t', {})
    await before.createTopic('other', {})
    await before.append('t', 0, batch('a'))
    disk.failNextSync()
    await expect(writer.sync('t')).rejects.toThrow(/EIO/)
    const after = await LogSession.open(writer)
    await after.append('t', 0, batch('b'))
    await after.sync('t')
    await expect(before.sync('t')).rejects.toThrow(/open it again/)
    await expect(before.append('t', 0, batch('c'))).rejects.toThrow(/open it again/)
    await before.append('other', 0, batch('c'))
    await before.sync('other')
    await writer.close()
  })

  it('says which partition could not be forced when it closes', async () => {
    const { disk, writer } = await openWriter()
    const session = await LogSession.open(writer)
    await session.createTopic('t', {})
    await session.append('t', 0, batch('a'))
    disk.failNextSync()
    await expect(writer.close()).rejects.toMatchObject({
      code: 'CONNECTOR_FAILED',
      message: expect.stringMatching(/\/log\/.*could not be forced to the disk.*EIO/),
    })
  })

  it('keeps the transactions when their states could not be written for a time', async () => {
    const { disk, writer } = await openWriter()
    const first = await LogSession.open(writer)
    await first.createTopic('t', {})
    const producer = await first.initProducer('id')
    disk.full = true
    await expect(first.initProducer('other')).rejects.toMatchObject({ code: 'DISK_FULL' })
    disk.full = false
    const second = await LogSession.open(writer)
    expect((await second.initProducer('id')).epoch).toBe(producer.epoch + 1)
    await writer.close()
  })
})
