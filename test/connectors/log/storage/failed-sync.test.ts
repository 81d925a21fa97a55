import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { EmbeddedLog } from '../../../../src/connectors/log/embedded-log.ts'
import {
  readStatus,
  rewriteStatus,
} from '../../../../src/connectors/log/storage/partition-status.ts'
import { logFileName } from '../../../../src/connectors/log/storage/segment-files.ts'
import { LocalLogWriter } from '../../../../src/connectors/log/writer/local-log-writer.ts'
import { nodeFileSystem } from '../../../../src/files/node-file-system.ts'
import { RecordBatchWriter } from '../../../../src/wire/batch/record-batch-writer.ts'
import { SimulatedDisk } from '../../../disk/simulated-disk.ts'
import { SimulatedMount } from '../../../disk/simulated-mount.ts'
import { temporaryFolder } from '../fixture.ts'

const text = (value: string): Uint8Array => new TextEncoder().encode(value)

/** Opens the log in a folder and closes it again; `act` runs in between. */
async function withLog(folder: string, act: (log: EmbeddedLog) => Promise<void> = async () => {}) {
  const log = await EmbeddedLog.open(folder)
  try {
    await act(log)
  } finally {
    await log.close()
  }
}

it('a partition whose status says that a sync has failed is forced again, to a new file, once', async () => {
  const folder = temporaryFolder()
  await withLog(folder, async (log) => {
    await log.createTopic('t')
    const producer = log.producer('t')
    producer.send(text('k'), text('v'), 0)
    await producer.sync()
  })
  const partition = join(folder, 't', '0')
  const segment = join(partition, logFileName(0))
  const [before, { size }] = [statSync(segment).ino, statSync(segment)]
  rewriteStatus(nodeFileSystem, partition, { ...readStatus(partition), isSyncFailed: true })
  await withLog(folder)
  const after = statSync(segment)
  expect(after.ino).not.toBe(before)
  expect(after.size).toBe(size)
  expect(readStatus(partition).isSyncFailed).toBeUndefined()
  await withLog(folder)
  expect(statSync(segment).ino).toBe(after.ino)
})

it('a disk that has no room for the next segment loses no segment before it', async () => {
  const disk = new SimulatedDisk(1)
  const files = new SimulatedMount(disk)
  const open = (): Promise<LocalLogWriter> =>
    LocalLogWriter.open('/log', { files, warn: () => {} }, { announce: () => {}, close: () => {} })
  const batch = (): Uint8Array<ArrayBuffer> => {
    const writer = new RecordBatchWriter(256)
    writer.append(text('k'), text('v'.repeat(200)), 0)
    return writer.take()
  }
  const first = await open()
  await first.createTopic('t', { partitions: 1, segmentBytes: 300 })
  expect(await first.append('t', 0, batch())).toBe(0)
  disk.full = true
  await expect(first.append('t', 0, batch())).rejects.toThrow('ENOSPC')
  await first.close()
  disk.full = false
  const again = await open()
  expect(await again.append('t', 0, batch())).toBe(1)
  await again.close()
})
