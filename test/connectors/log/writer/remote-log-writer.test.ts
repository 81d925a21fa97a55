import { MessageChannel } from 'node:worker_threads'
import { expect, it, onTestFinished } from 'vitest'
import { EmbeddedLogProducer } from '../../../../src/connectors/log/producer.ts'
import { PartitionReader } from '../../../../src/connectors/log/storage/partition-reader.ts'
import { LocalLogWriter } from '../../../../src/connectors/log/writer/local-log-writer.ts'
import { answerCalls } from '../../../../src/connectors/log/writer/log-writer-server.ts'
import { RemoteLogWriter } from '../../../../src/connectors/log/writer/remote-log-writer.ts'
import { WeirError } from '../../../../src/core/errors.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'
import { RecordBatchReader } from '../../../../src/wire/batch/record-batch-reader.ts'
import { RecordBatchWriter } from '../../../../src/wire/batch/record-batch-writer.ts'
import { SimulatedDisk } from '../../../disk/simulated-disk.ts'
import { SimulatedMount } from '../../../disk/simulated-mount.ts'

const encoder = new TextEncoder()

/** A writer that the other end of a message port serves, as between threads. */
async function openRemote(): Promise<{ disk: SimulatedDisk; remote: RemoteLogWriter }> {
  const disk = new SimulatedDisk(1)
  const owner = await LocalLogWriter.open(
    '/log',
    { files: new SimulatedMount(disk), clock: new ManualClock(1000), cleanIntervalMs: 1e9 },
    { announce: () => {}, close: () => {} },
  )
  const { port1, port2 } = new MessageChannel()
  answerCalls(owner, port2, { returnBuffers: true })
  const remote = new RemoteLogWriter(port1, () => new WeirError('CONNECTOR_FAILED', 'gone'))
  onTestFinished(async () => {
    await remote.close()
    await owner.close()
  })
  await remote.opened()
  await remote.createTopic('t', { partitions: 1 })
  return { disk, remote }
}

function batch(value: string): Uint8Array<ArrayBuffer> {
  const writer = new RecordBatchWriter(256)
  writer.append(null, encoder.encode(value), 1)
  return writer.take()
}

async function valuesIn(disk: SimulatedDisk): Promise<string[]> {
  const reader = new PartitionReader('/log/t/0', { files: new SimulatedMount(disk) })
  onTestFinished(() => reader.close())
  const records = new RecordBatchReader()
  const values: string[] = []
  for (let offset = 0; ; ) {
    const fetched = await reader.fetch(offset, new Uint8Array(4096))
    if (fetched === undefined) return values
    for (let at = 0; at < fetched.end; ) {
      at = records.open(fetched.bytes, at, true)
      while (records.next()) values.push(Buffer.from(records.value()!).toString())
    }
    offset = fetched.nextOffset
  }
}

it('the buffer of an appended batch comes back from the thread that owns the log, once', async () => {
  const { remote } = await openRemote()
  const sent = batch('a')
  const size = sent.buffer.byteLength
  const appending = remote.append('t', 0, sent)
  expect(sent.buffer.byteLength).toBe(0)
  expect(remote.spareBuffer()).toBeUndefined()
  await appending
  expect(remote.spareBuffer()?.byteLength).toBe(size)
  expect(remote.spareBuffer()).toBeUndefined()
})

it('the buffer of a batch that could not be written does not come back', async () => {
  const { disk, remote } = await openRemote()
  disk.full = true
  await expect(remote.append('t', 0, batch('a'))).rejects.toMatchObject({ code: 'DISK_FULL' })
  disk.full = false
  expect(remote.spareBuffer()).toBeUndefined()
})

it('batches in buffers that came back hold their own records only', async () => {
  const { disk, remote } = await openRemote()
  const producer = new EmbeddedLogProducer(remote, { topic: 't', partitions: 1 })
  const values = ['a long value of the first batch', 'b', 'a value of the third', 'd']
  for (const value of values) {
    producer.send(null, encoder.encode(value), 1)
    await producer.flush()
  }
  expect(await valuesIn(disk)).toEqual(values)
})
