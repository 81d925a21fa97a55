import { join } from 'node:path'
import { expect, it } from 'vitest'
import { cleanPartition } from '../../../../src/connectors/log/cleaning/cleaner.ts'
import {
  readCompacted,
  writeCompacted,
} from '../../../../src/connectors/log/storage/compacted-offset.ts'
import { PartitionReader } from '../../../../src/connectors/log/storage/partition-reader.ts'
import { PartitionWriter } from '../../../../src/connectors/log/storage/partition-writer.ts'
import { listSegments, logFileName } from '../../../../src/connectors/log/storage/segment-files.ts'
import {
  topicConfig,
  writeTopicConfig,
} from '../../../../src/connectors/log/storage/topic-config.ts'
import { readFileSync, replaceFileSync } from '../../../../src/files/durable-files.ts'
import { hasPositionChecksum } from '../../../../src/wire/batch/position-checksum.ts'
import {
  BATCH_FIELDS,
  baseOffsetOf,
  batchSizeAt,
  writeInt32,
} from '../../../../src/wire/batch/record-batch-format.ts'
import { RecordBatchReader } from '../../../../src/wire/batch/record-batch-reader.ts'
import { RecordBatchWriter } from '../../../../src/wire/batch/record-batch-writer.ts'
import { SimulatedDisk } from '../../../disk/simulated-disk.ts'
import { SimulatedMount } from '../../../disk/simulated-mount.ts'

const PATH = '/log/t/0'
const CONFIG = topicConfig({ cleanupPolicy: 'compact', segmentBytes: 800 })

/** A partition with a segment whose batches are at 1, 5 and 9, and gaps around them. */
async function compactedPartition(): Promise<{
  readonly files: SimulatedMount
  readonly partition: PartitionWriter
  readonly segment: string
}> {
  const files = new SimulatedMount(new SimulatedDisk(1))
  const options = { files, syncEveryWrite: false, openTransactions: [], onChange: () => {} }
  const partition = await PartitionWriter.open(PATH, CONFIG, options)
  writeTopicConfig(files, '/log/t', { ...CONFIG, id: '' })
  for (const [i, key] of [...'abaaacaaadaaaa'].entries()) {
    const writer = new RecordBatchWriter(128)
    writer.append(Buffer.from(key), Buffer.from(`${i}`), 1)
    await partition.append(writer.take())
  }
  await cleanPartition(partition, 0)
  return { files, partition, segment: join(PATH, logFileName(listSegments(files, PATH)[0]!)) }
}

/** Positions of the batches of a segment. */
function batchesOf(segment: Uint8Array): number[] {
  const found: number[] = []
  for (let at = 0; at < segment.length; at += batchSizeAt(segment, at, segment.length)) {
    found.push(at)
  }
  return found
}

async function recordsOf(files: SimulatedMount): Promise<string[]> {
  const reader = new PartitionReader(PATH, { files })
  const records = new RecordBatchReader()
  const found: string[] = []
  for (let offset = 0; ; ) {
    const fetched = await reader.fetch(offset, new Uint8Array(65_536))
    if (fetched === undefined) return found
    for (let at = 0; at < fetched.end; ) {
      at = records.open(fetched.bytes, at)
      while (records.next()) found.push(`${records.offset} ${Buffer.from(records.key()!)}`)
    }
    offset = fetched.nextOffset
  }
}

it('a flipped bit of a base offset between gaps is found', async () => {
  const { files, segment } = await compactedPartition()
  const whole = readFileSync(files, segment)
  const batches = batchesOf(whole)
  expect(batches.map((at) => baseOffsetOf(whole, at))).toEqual(
    [1, 5, 9, 10].slice(0, batches.length),
  )
  for (const at of batches) {
    for (const bit of [3, 12, 21, 30, 39, 48, 56, 57, 58, 59, 60, 61, 62, 63]) {
      const damaged = whole.slice()
      damaged[at + (bit >> 3)]! ^= 1 << (bit & 7)
      replaceFileSync(files, segment, damaged)
      const error = await recordsOf(files).then(String, (thrown: unknown) => thrown)
      expect(error, `batch at ${at}, bit ${bit}`).toMatchObject({ details: { file: segment } })
    }
  }
})

it('segments of an earlier release get checksums of their positions at the next compaction', async () => {
  const { files, partition, segment } = await compactedPartition()
  const before = await recordsOf(files)
  const old = readFileSync(files, segment)
  for (const at of batchesOf(old)) writeInt32(old, at + BATCH_FIELDS.leaderEpoch, -1)
  replaceFileSync(files, segment, old)
  const version2 = '{"version":2,"offset":10,"crc32":1527043288}'
  replaceFileSync(files, join(PATH, 'compacted'), Buffer.from(version2))
  expect(await recordsOf(files)).toEqual(before)
  await cleanPartition(partition, 0)
  const written = readFileSync(files, segment)
  expect(batchesOf(written).every((at) => hasPositionChecksum(written, at))).toBe(true)
  expect(await recordsOf(files)).toEqual(before)
  expect(readCompacted(files, PATH).hasPositionChecksums).toBe(true)
})

it.each([
  ['7', { offset: 7, hasEnds: false, hasPositionChecksums: false }],
  [
    '{"version":2,"offset":10,"crc32":1527043288}',
    { offset: 10, hasEnds: true, hasPositionChecksums: false },
  ],
  [
    '{"version":3,"offset":10,"crc32":3322623406}',
    { offset: 10, hasEnds: true, hasPositionChecksums: true },
  ],
  [
    '{"version":4,"offset":10,"crc32":1}',
    { offset: 0, hasEnds: false, hasPositionChecksums: false },
  ],
  [
    '{"version":2,"offset":11,"crc32":1}',
    { offset: 0, hasEnds: false, hasPositionChecksums: false },
  ],
])('%s is read, as each version says', (text, expected) => {
  const files = new SimulatedMount(new SimulatedDisk(1))
  files.makeFolderSync('/p')
  replaceFileSync(files, '/p/compacted', Buffer.from(text))
  expect(readCompacted(files, '/p')).toEqual(expected)
})

it('the file is written as version 3', () => {
  const files = new SimulatedMount(new SimulatedDisk(1))
  files.makeFolderSync('/p')
  writeCompacted(files, '/p', 10)
  expect(Buffer.from(readFileSync(files, '/p/compacted')).toString()).toBe(
    '{"version":3,"offset":10,"crc32":3322623406}',
  )
})
