import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { ByteReader } from '../../../core/byte-reader.ts'
import { ByteWriter } from '../../../core/byte-writer.ts'
import { asWeirError, isWeirError, WeirError } from '../../../core/errors.ts'
import { readFileSync } from '../../../files/durable-files.ts'
import { type FileSystem, type OpenFile, systemCodeOf } from '../../../files/file-system.ts'
import { nodeFileSystem } from '../../../files/node-file-system.ts'
import { requireOwnPlace } from './partition-identity.ts'
import { listSegments, logFileName } from './segment-files.ts'
import { partitionPath, readTopicConfig } from './topic-config.ts'

/**
 * File `status`: 64 bytes that the writer overwrites in place after every group of appends. One small
 * read shows a reader in any thread or process how far it can read. Little-endian.
 *
 *      0        4         6       8         16         24            32            40
 *      +--------+---------+-------+---------+----------+-------------+-------------+
 *      | "WLPS" | version | flags | log     | end      | last stable | active      |
 *      |        | u16 = 2 | u16   | start   | offset   | offset      | segment base|
 *      +--------+---------+-------+---------+----------+-------------+-------------+
 *      40            48              52           56       60         64
 *      +-------------+---------------+------------+--------+----------+
 *      | active      | aborted       | generation | forced | CRC-32   |
 *      | segment size| entries u32   | u32        | u32    | of 0..60 |
 *      +-------------+---------------+------------+--------+----------+
 *
 * Flag 1: a sync has failed, and the disk took no file `sync-failed` (`failed-sync.ts`).
 * A reader that reads during a write gets a wrong checksum and reads again.
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
  /** Entries in the file `aborted` that readers must take into account. */
  readonly abortedCount: number
  /** Grows when segments are added, removed or replaced. */
  readonly generation: number
  /** Bytes of the active segment that are known to be forced to the disk. */
  readonly forcedSize: number
  /** Whether a sync has failed, and the active segment must be written again. @default false */
  readonly isSyncFailed?: boolean
}

/** Bytes of a status. */
export const STATUS_SIZE = 64
/** Version of the file's format: from 2 on, batches may have the mark of their partition, which earlier builds take for damage. */
const STATUS_VERSION = 2
const VERSION_WITHOUT_MARKS = 1
const MAGIC = 0x53504c57
const SYNC_FAILED = 1
const READ_ATTEMPTS = 50

/** Encodes a status into 64 bytes. */
export function encodeStatus(status: PartitionStatus): Uint8Array {
  const writer = new ByteWriter(STATUS_SIZE)
  writer.uint32(MAGIC)
  writer.uint16(STATUS_VERSION)
  writer.uint16(status.isSyncFailed === true ? SYNC_FAILED : 0)
  writer.int53(status.logStart)
  writer.int53(status.endOffset)
  writer.int53(status.lastStable)
  writer.int53(status.activeBase)
  writer.int53(status.activeSize)
  writer.uint32(status.abortedCount)
  writer.uint32(status.generation)
  writer.uint32(status.forcedSize)
  writer.uint32(crc32(writer.bytes.subarray(0, writer.length)))
  return writer.bytes
}

/** Decodes a status. Throws MALFORMED_DATA, CHECKSUM_MISMATCH or UNSUPPORTED_VERSION. */
function decodeStatus(bytes: Uint8Array): PartitionStatus {
  const reader = new ByteReader(bytes)
  if (reader.uint32() !== MAGIC) throw new WeirError('MALFORMED_DATA', 'no partition status')
  if (crc32(bytes.subarray(0, 60)) !== new ByteReader(bytes, 60).uint32()) {
    throw new WeirError('CHECKSUM_MISMATCH', 'the partition status differs from its checksum')
  }
  const version = reader.uint16()
  if (version !== STATUS_VERSION && version !== VERSION_WITHOUT_MARKS) {
    const message = `partition status ${version}; this build reads up to ${STATUS_VERSION}`
    throw new WeirError('UNSUPPORTED_VERSION', message)
  }
  const flags = reader.uint16()
  return {
    ...((flags & SYNC_FAILED) === 0 ? {} : { isSyncFailed: true }),
    logStart: reader.int53(),
    endOffset: reader.int53(),
    lastStable: reader.int53(),
    activeBase: reader.int53(),
    activeSize: reader.int53(),
    abortedCount: reader.uint32(),
    generation: reader.uint32(),
    forcedSize: reader.uint32(),
  }
}

/** Path of the status file of a partition's folder. */
export function statusPath(partitionPath: string): string {
  return join(partitionPath, 'status')
}

/** Reads the bytes of an open status file. Those that are missing are zero. */
export function readStatusBytes(file: OpenFile, scratch: Uint8Array): void {
  const read = file.readSync(scratch, 0, STATUS_SIZE)
  if (read < STATUS_SIZE) scratch.fill(0)
}

/**
 * The status whose bytes were read into `scratch`. Reads the open file again while it is being written. Throws as
 * `decodeStatus`.
 */
export function statusOfBytes(file: OpenFile, scratch: Uint8Array): PartitionStatus {
  for (let attempt = 1; ; attempt++) {
    try {
      return decodeStatus(scratch)
    } catch (error) {
      if (attempt === READ_ATTEMPTS) throw unreadable(file.path, error)
    }
    readStatusBytes(file, scratch)
  }
}

/**
 * The status of a partition's folder; undefined when it is missing or damaged. Throws the error of a disk
 * that does not read it, and UNSUPPORTED_VERSION: a recovery without it would not know which bytes were
 * forced.
 */
export function findStatus(files: FileSystem, partitionPath: string): PartitionStatus | undefined {
  let bytes: Uint8Array
  try {
    bytes = readFileSync(files, statusPath(partitionPath))
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined
    throw error
  }
  try {
    return decodeStatus(bytes)
  } catch (error) {
    if (isWeirError(error, 'UNSUPPORTED_VERSION'))
      throw unreadable(statusPath(partitionPath), error)
    return undefined
  }
}

/**
 * The status of a partition's folder. Throws UNKNOWN_TOPIC when the folder is no partition, MALFORMED_DATA when
 * it has segments and no status, and as `decodeStatus`.
 */
export function readStatus(path: string, files: FileSystem = nodeFileSystem): PartitionStatus {
  let file: OpenFile
  try {
    file = files.openSync(statusPath(path), 'read')
  } catch (error) {
    throw missingStatus(files, path, error)
  }
  try {
    const scratch = new Uint8Array(STATUS_SIZE)
    readStatusBytes(file, scratch)
    return statusOfBytes(file, scratch)
  } finally {
    file.closeSync()
  }
}

/** The error of a partition's status that could not be opened. */
export function missingStatus(files: FileSystem, path: string, cause: unknown): unknown {
  if (systemCodeOf(cause) !== 'ENOENT') return cause
  if (files.statSync(path) === undefined || !hasRecords(files, path)) {
    return new WeirError('UNKNOWN_TOPIC', `${path} is not a partition of a log`, { cause })
  }
  const file = statusPath(path)
  const message = `${file} is missing, and the partition has records; the next process that writes to the log builds it again from the records`
  return new WeirError('MALFORMED_DATA', message, { cause, details: { path: file } })
}

/**
 * Whether a folder without a status holds, or has held, records. A new partition has its first segment, which
 * is empty, a moment before its status.
 */
function hasRecords(files: FileSystem, path: string): boolean {
  return listSegments(files, path).some((base) => {
    return base > 0 || (files.statSync(join(path, logFileName(base)))?.size ?? 0) > 0
  })
}

/** The error of a status, with its file and what to do. */
function unreadable(path: string, cause: unknown): WeirError {
  const { code, message } = asWeirError(cause, 'MALFORMED_DATA')
  const remedy =
    code === 'UNSUPPORTED_VERSION'
      ? 'use the build that wrote it'
      : 'stop every process that uses the log and move this file away: the next one that writes to the log builds it again from the records'
  return new WeirError(code, `${path}: ${message}; ${remedy}`, { cause, details: { path } })
}

/** The error of an offset that the partition does not hold. */
export function outOfRange(offset: number, status: PartitionStatus): WeirError {
  const { logStart, endOffset } = status
  const message = `offset ${offset} is not in [${logStart}, ${endOffset}], the range of the partition`
  return new WeirError('OFFSET_OUT_OF_RANGE', message, { details: { offset, logStart, endOffset } })
}

/** Writes a partition's status, durably, and in place: readers have the file open. */
export function rewriteStatus(files: FileSystem, path: string, status: PartitionStatus): void {
  const file = files.openSync(statusPath(path), 'change')
  try {
    file.writeSync([encodeStatus(status)], 0)
    file.datasyncSync()
  } finally {
    file.closeSync()
  }
}

/**
 * Offsets of each partition of a topic that exist: `start` inclusive, `end` exclusive. Throws UNKNOWN_TOPIC,
 * MALFORMED_DATA.
 */
export function topicBounds(
  directory: string,
  topic: string,
): { readonly partition: number; readonly start: number; readonly end: number }[] {
  const { partitions } = readTopicConfig(directory, topic)
  return Array.from({ length: partitions }, (_, partition) => {
    const path = partitionPath(directory, topic, partition)
    requireOwnPlace(nodeFileSystem, path)
    const { logStart, endOffset } = readStatus(path)
    return { partition, start: logStart, end: endOffset }
  })
}
