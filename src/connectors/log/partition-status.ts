import * as fs from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'

/**
 * `status`: 64 bytes that the writer overwrites in place after every group of appends, so that a
 * reader in any thread or process knows how far it may read with one small read. Little-endian.
 *
 *      0        4         6       8         16         24            32            40
 *      +--------+---------+-------+---------+----------+-------------+-------------+
 *      | "WLPS" | version | zero  | log     | end      | last stable | active      |
 *      |        | u16 = 1 | u16   | start   | offset   | offset      | segment base|
 *      +--------+---------+-------+---------+----------+-------------+-------------+
 *      40            48              52           56       60         64
 *      +-------------+---------------+------------+--------+----------+
 *      | active      | aborted       | generation | zero   | CRC-32   |
 *      | segment size| entries u32   | u32        | u32    | of 0..60 |
 *      +-------------+---------------+------------+--------+----------+
 *
 * A reader that meets a write half done sees a wrong checksum and reads again.
 */
export interface PartitionStatus {
  /** First offset that is kept. */
  readonly logStart: number
  /** Offset that the next record will get. */
  readonly endOffset: number
  /** First offset of the oldest open transaction, or the end offset: read_committed stops here. */
  readonly lastStable: number
  readonly activeBase: number
  /** Bytes of whole batches in the active segment. */
  readonly activeSize: number
  /** Entries in `aborted` that readers must know. */
  readonly abortedCount: number
  /** Grows when segments are added, removed or replaced. */
  readonly generation: number
}

export const STATUS_SIZE = 64
export const STATUS_VERSION = 1
const MAGIC = 0x53504c57
const READ_ATTEMPTS = 50

/** Encodes a status into 64 bytes. */
export function encodeStatus(status: PartitionStatus): Uint8Array {
  const writer = new ByteWriter(STATUS_SIZE)
  writer.uint32(MAGIC)
  writer.uint16(STATUS_VERSION)
  writer.uint16(0)
  writer.int53(status.logStart)
  writer.int53(status.endOffset)
  writer.int53(status.lastStable)
  writer.int53(status.activeBase)
  writer.int53(status.activeSize)
  writer.uint32(status.abortedCount)
  writer.uint32(status.generation)
  writer.uint32(0)
  writer.uint32(crc32(writer.bytes.subarray(0, writer.length)))
  return writer.bytes
}

/** Decodes a status. Throws MALFORMED_DATA, CHECKSUM_MISMATCH or UNSUPPORTED_VERSION. */
export function decodeStatus(bytes: Uint8Array): PartitionStatus {
  const reader = new ByteReader(bytes)
  if (reader.uint32() !== MAGIC) throw new WeirError('MALFORMED_DATA', 'no partition status')
  if (crc32(bytes.subarray(0, 60)) !== new ByteReader(bytes, 60).uint32()) {
    throw new WeirError('CHECKSUM_MISMATCH', 'the partition status differs from its checksum')
  }
  const version = reader.uint16()
  if (version !== STATUS_VERSION) {
    throw new WeirError('UNSUPPORTED_VERSION', `partition status ${version}; this build reads 1`)
  }
  reader.uint16()
  return {
    logStart: reader.int53(),
    endOffset: reader.int53(),
    lastStable: reader.int53(),
    activeBase: reader.int53(),
    activeSize: reader.int53(),
    abortedCount: reader.uint32(),
    generation: reader.uint32(),
  }
}

/** Path of the status file of a partition's folder. */
export function statusPath(partitionPath: string): string {
  return join(partitionPath, 'status')
}

/** Reads an open status file, again while a write is under way. Throws as `decodeStatus`. */
export function readStatusFrom(fd: number, scratch: Uint8Array): PartitionStatus {
  for (let attempt = 1; ; attempt++) {
    fs.readSync(fd, scratch, 0, STATUS_SIZE, 0)
    try {
      return decodeStatus(scratch)
    } catch (error) {
      if (attempt === READ_ATTEMPTS) throw error
    }
  }
}

/** The status of a partition's folder; undefined when there is none that can be read. */
export function findStatus(partitionPath: string): PartitionStatus | undefined {
  try {
    return decodeStatus(fs.readFileSync(statusPath(partitionPath)))
  } catch {
    return undefined
  }
}
