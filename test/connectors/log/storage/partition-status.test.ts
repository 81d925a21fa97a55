import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  encodeStatus,
  readStatus,
  statusPath,
} from '../../../../src/connectors/log/storage/partition-status.ts'

const STATUS = {
  logStart: 0,
  endOffset: 9,
  lastStable: 9,
  activeBase: 0,
  activeSize: 100,
  abortedCount: 0,
  generation: 1,
  forcedSize: 0,
}

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-status-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Writes the status with byte `at` changed; the checksum is made right if `sum`. */
function write(at: number, value: number, sum: boolean): void {
  const bytes = Buffer.from(encodeStatus(STATUS))
  bytes[at] = value
  if (sum) bytes.writeUInt32LE(crc32(bytes.subarray(0, 60)), 60)
  writeFileSync(statusPath(folder), bytes)
}

describe('readStatus', () => {
  it('reads what was written', () => {
    writeFileSync(statusPath(folder), encodeStatus(STATUS))
    expect(readStatus(folder)).toEqual(STATUS)
  })

  it('reads whether a sync has failed from the flags, which other builds write as zero', () => {
    const bytes = encodeStatus({ ...STATUS, isSyncFailed: true })
    expect([...bytes.subarray(0, 8)]).toEqual([0x57, 0x4c, 0x50, 0x53, 2, 0, 1, 0])
    writeFileSync(statusPath(folder), bytes)
    expect(readStatus(folder)).toEqual({ ...STATUS, isSyncFailed: true })
  })

  it('reads a status of a build that gave batches no mark of their partition', () => {
    write(4, 1, true)
    expect(readStatus(folder)).toEqual(STATUS)
  })

  it('names file and remedy of a damaged or cut status, which is no missing topic', () => {
    write(20, 7, false)
    expect(() => readStatus(folder)).toThrow(
      expect.objectContaining({ code: 'CHECKSUM_MISMATCH', details: { path: statusPath(folder) } }),
    )
    expect(() => readStatus(folder)).toThrow(/builds it again from the records/)
    writeFileSync(statusPath(folder), '')
    expect(() => readStatus(folder)).toThrow(expect.objectContaining({ code: 'MALFORMED_DATA' }))
  })

  it('names the file of a status that another build wrote', () => {
    write(4, 3, true)
    expect(() => readStatus(folder)).toThrow(
      expect.objectContaining({
        code: 'UNSUPPORTED_VERSION',
        details: { path: statusPath(folder) },
      }),
    )
    expect(() => readStatus(folder)).toThrow(/use the build that wrote it/)
  })

  it('says that a partition whose first segment is empty does not exist yet', () => {
    const segment = join(folder, '00000000000000000000.log')
    writeFileSync(segment, '')
    expect(() => readStatus(folder)).toThrow(expect.objectContaining({ code: 'UNKNOWN_TOPIC' }))
    writeFileSync(segment, 'a batch')
    expect(() => readStatus(folder)).toThrow(expect.objectContaining({ code: 'MALFORMED_DATA' }))
  })

  it('says that a folder without a status is not a partition', () => {
    expect(() => readStatus(folder)).toThrow(expect.objectContaining({ code: 'UNKNOWN_TOPIC' }))
  })
})
