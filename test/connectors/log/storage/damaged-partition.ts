import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { EmbeddedLog } from '../../../../src/connectors/log/embedded-log.ts'
import { PartitionReader } from '../../../../src/connectors/log/storage/partition-reader.ts'
import type { TopicConfig } from '../../../../src/connectors/log/storage/topic-config.ts'
import { seededRandom } from '../../../../src/core/random.ts'
import { RecordBatchReader } from '../../../../src/wire/batch/record-batch-reader.ts'
import { bytes, temporaryFolder, text } from '../fixture.ts'

const RECORDS = 120

/** Writes records in batches of two; many closed segments. Returns the partition's folder. */
export async function writeTopic(directory: string, config: Partial<TopicConfig>): Promise<string> {
  const log = await EmbeddedLog.open(directory, { fsync: 'every-batch' })
  await log.createTopic('t', { segmentBytes: 800, ...config })
  const producer = log.producer('t')
  for (let i = 0; i < RECORDS; i++) {
    producer.send(bytes(`k${i % 7}`), bytes(`value ${i}`), 1)
    if (i % 2 === 1) await producer.flush()
  }
  if (config.cleanupPolicy === 'compact') await log.writer.clean()
  await log.close()
  return join(directory, 't/0')
}

/** All records of the partition, `offset key=value`. */
export async function readPartition(path: string): Promise<string[]> {
  const reader = new PartitionReader(path)
  const records = new RecordBatchReader()
  const found: string[] = []
  try {
    for (let offset = reader.status().logStart; ; ) {
      const fetched = await reader.fetch(offset, new Uint8Array(0))
      if (fetched === undefined) return found
      for (let at = 0; at < fetched.end; ) {
        at = records.open(fetched.bytes, at)
        while (records.next()) {
          found.push(`${records.offset} ${text(records.key())}=${text(records.value())}`)
        }
      }
      offset = fetched.nextOffset
    }
  } finally {
    reader.close()
  }
}

/** The files of a partition's segments, oldest first. */
export const segmentsOf = (path: string): string[] =>
  fs
    .readdirSync(path)
    .filter((name) => name.endsWith('.log'))
    .map((name) => join(path, name))
    .sort()

/** What reading says after a damage: `same` records, or the code of a typed error that names the file. */
async function outcome(path: string, whole: readonly string[]): Promise<string> {
  try {
    expect(await readPartition(path)).toEqual(whole)
    return 'same'
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'WeirError') throw error
    expect(error.message).toMatch(
      /\/t\/0\/.*(is damaged at byte \d+, offset \d+|is not a partition)/,
    )
    return 'refused'
  }
}

/** As `outcome`, but offsets may differ: no record may be missing. */
async function countOf(path: string, whole: readonly string[]): Promise<string> {
  try {
    expect((await readPartition(path)).length).toBe(whole.length)
    return 'same'
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'WeirError') throw error
    return 'refused'
  }
}

/** Flips a bit in every byte of the header of every `stride`th batch, one at a time, and reads. */
export async function expectWrongHeadersAreSeen(
  policy: 'delete' | 'compact',
  stride: number,
): Promise<void> {
  const directory = temporaryFolder()
  const path = await writeTopic(directory, { cleanupPolicy: policy })
  const whole = await readPartition(path)
  const outcomes = { same: 0, refused: 0 }
  const random = seededRandom(5)
  let batch = 0
  for (const file of segmentsOf(path)) {
    const content = fs.readFileSync(file)
    for (let at = 0; at < content.length; at += content.readInt32BE(at + 8) + 12) {
      if (batch++ % stride !== 0) continue
      for (let byte = 0; byte < 12; byte++) {
        const damaged = Buffer.from(content)
        damaged[at + byte]! ^= 1 << random.below(8)
        fs.writeFileSync(file, damaged)
        // Compaction leaves gaps, in which a batch may seem to begin at another offset.
        const inGap = policy === 'compact' && byte < 8
        const result = inGap ? await countOf(path, whole) : await outcome(path, whole)
        outcomes[result as 'same'] += 1
      }
    }
    fs.writeFileSync(file, content)
  }
  expect(outcomes.refused).toBeGreaterThan((policy === 'compact' ? 80 : 100) / stride)
  if (policy === 'delete') expect(outcomes.same).toBe(0)
}

/** Cuts every `stride`th segment at many lengths and at every batch, and removes it. */
export async function expectCutSegmentsAreRefused(
  policy: 'delete' | 'compact',
  stride: number,
): Promise<void> {
  const directory = temporaryFolder()
  const path = await writeTopic(directory, { cleanupPolicy: policy })
  const whole = await readPartition(path)
  for (const file of segmentsOf(path).filter((_, i) => i % stride === 0)) {
    const content = fs.readFileSync(file)
    for (let length = 0; length < content.length; length += 13) {
      fs.writeFileSync(file, content.subarray(0, length))
      expect(await outcome(path, whole)).toBe('refused')
    }
    // Cut at a batch.
    for (let at = 0; at < content.length; at += content.readInt32BE(at + 8) + 12) {
      fs.writeFileSync(file, content.subarray(0, at))
      expect(await outcome(path, whole)).toBe('refused')
    }
    fs.rmSync(file)
    expect(await outcome(path, whole)).toBe('refused')
    fs.writeFileSync(file, content)
  }
  expect(await readPartition(path)).toEqual(whole)
}
