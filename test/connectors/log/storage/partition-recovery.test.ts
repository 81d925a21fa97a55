import { crc32 } from 'node:zlib'
import { expect, it } from 'vitest'
import {
  readAborted,
  rewriteAborted,
} from '../../../../src/connectors/log/storage/aborted-index.ts'
import {
  encodeStatus,
  statusPath,
} from '../../../../src/connectors/log/storage/partition-status.ts'
import { PartitionWriter } from '../../../../src/connectors/log/storage/partition-writer.ts'
import {
  type TopicConfig,
  topicConfig,
} from '../../../../src/connectors/log/storage/topic-config.ts'
import { readFileSync, replaceFileSync } from '../../../../src/files/durable-files.ts'
import { RecordBatchWriter } from '../../../../src/wire/batch/record-batch-writer.ts'
import { SimulatedDisk } from '../../../disk/simulated-disk.ts'
import { SimulatedMount } from '../../../disk/simulated-mount.ts'

const PATH = '/log/t/0'

function openPartition(
  files: SimulatedMount,
  config: Partial<TopicConfig> = {},
): Promise<PartitionWriter> {
  const options = { files, syncEveryWrite: false, openTransactions: [], onChange: () => {} }
  return PartitionWriter.open(PATH, topicConfig(config), options)
}

function batch(): Uint8Array {
  const writer = new RecordBatchWriter(256)
  writer.append(null, Buffer.from('x'), 1)
  return writer.take()
}

it('an aborted range whose marker was lost is removed, so that it hides no later record', async () => {
  const files = new SimulatedMount(new SimulatedDisk(1))
  const partition = await openPartition(files)
  for (let i = 0; i < 3; i++) await partition.append(batch())
  await partition.close()
  const whole = { producerId: 1, firstOffset: 0, lastOffset: 2 }
  rewriteAborted(files, PATH, [whole, { producerId: 1, firstOffset: 3, lastOffset: 5 }])
  const reopened = await openPartition(files)
  expect(reopened.status.abortedCount).toBe(1)
  expect(readAborted(files, PATH)).toEqual([whole])
})

it('a failed sync ends the partition; the next open writes the segment again before it goes on', async () => {
  const disk = new SimulatedDisk(1)
  const files = new SimulatedMount(disk)
  const partition = await openPartition(files)
  await partition.append(batch())
  disk.failNextSync()
  await expect(partition.sync()).rejects.toMatchObject({ code: 'CONNECTOR_FAILED' })
  await expect(partition.sync()).rejects.toMatchObject({ code: 'CONNECTOR_FAILED' })
  await expect(partition.append(batch())).rejects.toMatchObject({ code: 'CONNECTOR_FAILED' })
  await partition.close()
  const reopened = await openPartition(files)
  await reopened.sync()
  disk.powerCut('none')
  expect((await openPartition(files)).endOffset).toBe(1)
})

it('syncs at the same time resolve after the bytes are forced, not before', async () => {
  const disk = new SimulatedDisk(1)
  const files = new SimulatedMount(disk)
  const partition = await openPartition(files)
  await partition.append(batch())
  const first = partition.sync()
  await partition.sync()
  disk.powerCut('none')
  await first
  expect((await openPartition(files)).endOffset).toBe(1)
})

it('a log start that was not forced is forced before the segments below it are removed', async () => {
  for (let seed = 0; seed < 30; seed++) {
    const disk = new SimulatedDisk(seed)
    const files = new SimulatedMount(disk)
    const partition = await openPartition(files, { segmentBytes: 64 })
    for (let i = 0; i < 3; i++) await partition.append(batch())
    await partition.close()
    // A process that dies between this write and its sync.
    const file = files.openSync(statusPath(PATH), 'change')
    file.writeSync([encodeStatus({ ...partition.status, logStart: 1 })], 0)
    file.closeSync()
    await openPartition(files, { segmentBytes: 64 })
    disk.powerCut('some')
    expect((await openPartition(files, { segmentBytes: 64 })).endOffset, `seed ${seed}`).toBe(3)
  }
})

it('a disk that is full while an aborted transaction is stored is a typed error, and the next try succeeds', async () => {
  const disk = new SimulatedDisk(1)
  const files = new SimulatedMount(disk)
  const partition = await openPartition(files)
  await partition.append(batch())
  const range = { producerId: 1, firstOffset: 0, lastOffset: 0 }
  disk.full = true
  await expect(partition.addAborted(range)).rejects.toMatchObject({ code: 'DISK_FULL' })
  disk.full = false
  await partition.addAborted(range)
  expect(readAborted(files, PATH)).toEqual([range])
})

it.each([
  ['the disk does not read', failingStatus, { message: 'EIO: the disk does not read it' }],
  ['a newer build wrote', newerStatus, { code: 'UNSUPPORTED_VERSION' }],
])(
  'a partition with a status that %s is not opened, and nothing of it is cut',
  async (_, spoil, error) => {
    const files = new SimulatedMount(new SimulatedDisk(1))
    const partition = await openPartition(files)
    await partition.append(batch())
    await partition.close()
    const before = readFileSync(files, SEGMENT)
    // Without the status nothing says that these bytes were forced.
    const file = files.openSync(SEGMENT, 'change')
    file.writeSync([Uint8Array.of(before.at(-1)! ^ 1)], before.length - 1)
    file.closeSync()
    const damaged = readFileSync(files, SEGMENT)
    await expect(openPartition(spoil(files))).rejects.toMatchObject(error)
    expect(readFileSync(files, SEGMENT)).toEqual(damaged)
  },
)

const SEGMENT = `${PATH}/00000000000000000000.log`

/** A disk that does not read the status of the partition. */
function failingStatus(files: SimulatedMount): SimulatedMount {
  return new Proxy(files, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown
      if (name !== 'openSync') return typeof value === 'function' ? value.bind(target) : value
      return (path: string, ...rest: ['read']) => {
        if (path !== statusPath(PATH)) return target.openSync(path, ...rest)
        throw Object.assign(new Error('EIO: the disk does not read it'), { code: 'EIO' })
      }
    },
  })
}

/** The same files with a status of another version, and the right checksum. */
function newerStatus(files: SimulatedMount): SimulatedMount {
  const bytes = Buffer.from(readFileSync(files, statusPath(PATH)))
  bytes[4] = 99
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 60)), 60)
  replaceFileSync(files, statusPath(PATH), bytes)
  return files
}
