import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EmbeddedLog } from '../../../../src/connectors/log/embedded-log.ts'
import { PartitionReader } from '../../../../src/connectors/log/storage/partition-reader.ts'
import { bytes, temporaryFolder } from '../fixture.ts'
import {
  expectCutSegmentsAreRefused,
  expectWrongHeadersAreSeen,
  readPartition,
  segmentsOf,
  writeTopic,
} from './damaged-partition.ts'

// A system test of the same name damages every batch and every segment.
describe.each(['delete', 'compact'] as const)('a reader of a topic with cleanup %s', (policy) => {
  it('never skips records when a bit of a batch header is wrong', async () => {
    await expectWrongHeadersAreSeen(policy, 7)
  })

  it('refuses a closed segment that is cut off or missing', async () => {
    await expectCutSegmentsAreRefused(policy, 5)
  })
})

describe('a reader of a partition', () => {
  it('delivers the batches before a damage, then says where it is', async () => {
    const path = await writeTopic(temporaryFolder(), { segmentBytes: 100_000 })
    const [file] = segmentsOf(path)
    const content = fs.readFileSync(file!)
    const size = content.readInt32BE(8) + 12
    content[3 * size + 70]! ^= 4
    fs.writeFileSync(file!, content)
    const reader = new PartitionReader(path)
    const fetched = await reader.fetch(0, new Uint8Array(0))
    expect(fetched?.nextOffset).toBe(6)
    await expect(reader.fetch(6, new Uint8Array(0))).rejects.toMatchObject({
      code: 'CHECKSUM_MISMATCH',
      details: { file, position: 3 * size, offset: 6 },
    })
    reader.close()
  })

  it('does not show records of aborted transactions when their list is damaged', async () => {
    const directory = temporaryFolder()
    const log = await EmbeddedLog.open(directory)
    await log.createTopic('t')
    const producer = log.producer('t')
    await producer.begin('id')
    producer.send(null, bytes('aborted'), 1)
    await producer.flush()
    await producer.abort()
    await log.close()
    const path = join(directory, 't/0')
    fs.writeFileSync(join(path, 'aborted'), Buffer.alloc(40))
    await expect(readPartition(path)).rejects.toThrow(/aborted is damaged/)
    fs.rmSync(join(path, 'aborted'))
    await expect(readPartition(path)).rejects.toThrow(/aborted is damaged/)
  })
})
