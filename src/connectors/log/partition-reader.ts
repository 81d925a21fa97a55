import * as fs from 'node:fs'
import { join } from 'node:path'
import { checkBatch } from '../../batch/batch-check.ts'
import {
  BATCH_HEADER_SIZE,
  baseOffsetOf,
  batchSizeAt,
  lastOffsetOf,
  maxTimestampOf,
} from '../../batch/record-batch-format.ts'
import { RecordBatchReader } from '../../batch/record-batch-reader.ts'
import { WeirError } from '../../core/errors.ts'
import { type AbortedRange, AbortedRanges, readAborted } from './aborted-index.ts'
import {
  findStatus,
  type PartitionStatus,
  readStatusFrom,
  STATUS_SIZE,
  statusPath,
} from './partition-status.ts'
import { INDEX_INTERVAL_BYTES, listSegments, logFileName, readIndex } from './segment-files.ts'

/** Whether a reader sees records of transactions that are open or were aborted. */
export type Isolation = 'read_committed' | 'read_uncommitted'

/** How a partition is read. */
export interface PartitionReaderOptions {
  /** Default `read_committed`. */
  readonly isolation?: Isolation
  /** Whether checksums are verified as batches are read; default true. */
  readonly verifyChecksums?: boolean
}

/** Whole batches in `bytes[0, end)`; they hold every visible record from the asked offset on. */
export interface FetchedBatches {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly end: number
  /** The offset asked for: records of the first batch below it are skipped. */
  readonly fromOffset: number
  /** Offset after the last batch: where the next fetch begins. */
  readonly nextOffset: number
  /** Aborted ranges that a read_committed reader must leave out. */
  readonly aborted: AbortedRanges
}

const STATUS_READ = { offset: 0, length: STATUS_SIZE, position: 0 } as const
const NONE_ABORTED = new AbortedRanges([])
const SMALLEST_BUFFER = 64 * 1024
/** Most bytes that `fetchNow` reads: a copy of about 30 us. */
const MOST_READ_NOW = 256 * 1024

/**
 * Reads one partition straight from its files, in any thread and any process, while the writer goes
 * on. It keeps its place, so a sequential read looks nothing up.
 */
export class PartitionReader {
  private readonly path: string
  private readonly committed: boolean
  private readonly verify: boolean
  private readonly statusFd: number
  private readonly scratch = new Uint8Array(STATUS_SIZE)
  private readonly lastBytes = new Uint8Array(STATUS_SIZE)
  private lastStatus: PartitionStatus | undefined
  private segmentBase = -1
  private segmentFd = -1
  private position = 0
  /** Offset that the batch at `position` begins with or follows; -1 when the place is unknown. */
  private placeOffset = -1
  private aborted: AbortedRanges = NONE_ABORTED
  private abortedCount = 0

  /** Opens the partition in folder `path`. Throws UNKNOWN_TOPIC when it is not there. */
  constructor(path: string, options: PartitionReaderOptions = {}) {
    this.path = path
    this.committed = options.isolation !== 'read_uncommitted'
    this.verify = options.verifyChecksums !== false
    try {
      this.statusFd = fs.openSync(statusPath(path), 'r')
    } catch (cause) {
      throw new WeirError('UNKNOWN_TOPIC', `${path} is no partition of a log`, { cause })
    }
  }

  /** The partition's present bounds: one small read. */
  status(): PartitionStatus {
    fs.readSync(this.statusFd, this.scratch, STATUS_READ)
    if (this.lastStatus !== undefined && Buffer.compare(this.scratch, this.lastBytes) === 0) {
      return this.lastStatus
    }
    this.lastStatus = readStatusFrom(this.statusFd, this.scratch)
    this.lastBytes.set(this.scratch)
    return this.lastStatus
  }

  /** First offset that may not be read yet. */
  limit(status: PartitionStatus = this.status()): number {
    return this.committed ? status.lastStable : status.endOffset
  }

  /**
   * Reads whole batches from `offset` on into `buffer`, or a larger one where a single batch needs
   * it; undefined when nothing is there yet. No batches and a later `nextOffset` mean that what was
   * there has been compacted away. Throws OFFSET_OUT_OF_RANGE, CHECKSUM_MISMATCH.
   */
  async fetch(
    offset: number,
    buffer: Uint8Array<ArrayBuffer>,
  ): Promise<FetchedBatches | undefined> {
    const status = this.status()
    if (offset < status.logStart || offset > status.endOffset) throw outOfRange(offset, status)
    const limit = this.limit(status)
    if (offset >= limit) return undefined
    if (this.placeOffset !== offset) this.seek(offset, status)
    this.refreshAborted(status)
    return await this.read(offset, status, buffer)
  }

  /**
   * As `fetch`, but at once, for a reader that has caught up with the writer: what was written last
   * is little and lies in the page cache, so that reading it takes less time than asking another
   * thread to. 'later' where `fetch` must be used.
   */
  fetchNow(offset: number, buffer: Uint8Array<ArrayBuffer>): FetchedBatches | 'later' | undefined {
    const status = this.status()
    const limit = this.limit(status)
    if (offset === limit && offset >= status.logStart) return undefined
    const left = status.activeSize - this.position
    if (
      this.placeOffset !== offset ||
      offset < status.logStart ||
      offset > limit ||
      this.segmentBase !== status.activeBase ||
      left > Math.min(MOST_READ_NOW, buffer.length)
    ) {
      return 'later'
    }
    this.refreshAborted(status)
    const filled = fs.readSync(this.segmentFd, buffer, 0, left, this.position)
    const end = filled < BATCH_HEADER_SIZE ? 0 : this.take(buffer, filled, limit)
    return end === 0 ? 'later' : this.fetched(buffer, end, offset)
  }

  private async read(
    offset: number,
    status: PartitionStatus,
    given: Uint8Array<ArrayBuffer>,
  ): Promise<FetchedBatches> {
    const limit = this.limit(status)
    let buffer = given.length < SMALLEST_BUFFER ? new Uint8Array(SMALLEST_BUFFER) : given
    for (;;) {
      const filled = await readAt(this.segmentFd, buffer, this.position)
      const size = filled >= BATCH_HEADER_SIZE ? batchSizeAt(buffer, 0, filled) : -1
      if (size > buffer.length) {
        buffer = new Uint8Array(size)
        continue
      }
      const end = size < 0 || size > filled ? -1 : this.take(buffer, filled, limit)
      if (end < 0 && this.openNext(limit, status)) continue
      // The status is written after the data: what is not there by now was compacted away.
      if (end <= 0) this.placeOffset = limit
      else if (this.placeOffset <= offset) continue
      return this.fetched(buffer, Math.max(end, 0), offset)
    }
  }

  private fetched(bytes: Uint8Array<ArrayBuffer>, end: number, fromOffset: number): FetchedBatches {
    const aborted = this.committed ? this.aborted : NONE_ABORTED
    return { bytes, end, fromOffset, nextOffset: this.placeOffset, aborted }
  }

  /**
   * Takes the whole visible batches of the filled buffer: moves the place behind them and returns
   * their end, 0 when the first is not visible.
   */
  private take(buffer: Uint8Array, filled: number, limit: number): number {
    let at = 0
    while (filled - at >= BATCH_HEADER_SIZE && baseOffsetOf(buffer, at) < limit) {
      const size = batchSizeAt(buffer, at, filled)
      if (at + size > filled) break
      if (this.verify) checkBatch(buffer, at, filled)
      this.placeOffset = lastOffsetOf(buffer, at) + 1
      at += size
    }
    this.position += at
    return at
  }

  private refreshAborted(status: PartitionStatus): void {
    if (!this.committed || status.abortedCount === this.abortedCount) return
    const ranges: AbortedRange[] = readAborted(this.path)
    this.aborted = new AbortedRanges(ranges)
    this.abortedCount = status.abortedCount
  }

  /** Finds the place of `offset`: the segment by name, a batch near it by index. */
  private seek(offset: number, status: PartitionStatus): void {
    const bases = listSegments(this.path)
    const base = bases.findLast((candidate) => candidate <= offset) ?? bases[0]
    if (base === undefined) throw outOfRange(offset, status)
    this.openSegment(base)
    const entries = readIndex(this.path, base) ?? []
    const header = new Uint8Array(8)
    for (let i = entries.length - 1; i >= 0; i--) {
      const entry = entries[i]!
      if (entry.offset > offset) continue
      const read = fs.readSync(this.segmentFd, header, 0, 8, entry.position)
      // Index and log are replaced one after the other by compaction: trust only what agrees.
      if (read === 8 && baseOffsetOf(header, 0) === entry.offset) {
        this.position = entry.position
        break
      }
    }
    this.placeOffset = offset
  }

  private openSegment(base: number): void {
    const fd = fs.openSync(join(this.path, logFileName(base)), 'r')
    if (this.segmentFd >= 0) fs.closeSync(this.segmentFd)
    this.segmentFd = fd
    this.segmentBase = base
    this.position = 0
  }

  /** Goes on to the segment after the present one; false when there is none with visible records. */
  private openNext(limit: number, status: PartitionStatus): boolean {
    if (this.segmentBase === status.activeBase && this.position < status.activeSize) {
      const message = `${this.path} holds less than its status says: open the log for writing once`
      throw new WeirError('MALFORMED_DATA', message)
    }
    const next = listSegments(this.path).find((base) => base > this.segmentBase)
    if (next === undefined || next >= limit) return false
    this.openSegment(next)
    return true
  }

  /** First offset of a record with a timestamp >= `timestamp` ms; the limit when there is none. */
  async offsetFor(timestamp: number): Promise<number> {
    const buffer = new Uint8Array(2 * INDEX_INTERVAL_BYTES)
    const bases = listSegments(this.path)
    const records = new RecordBatchReader()
    for (let i = 0; i < bases.length; i++) {
      const entries = readIndex(this.path, bases[i]!) ?? []
      const entry = entries.findLast((candidate) => candidate.maxTimestampBefore < timestamp)
      let offset = Math.max(entry?.offset ?? bases[i]!, this.status().logStart)
      const end = Math.min(bases[i + 1] ?? Number.MAX_SAFE_INTEGER, this.limit())
      while (offset < end) {
        const fetched = await this.fetch(offset, buffer)
        if (fetched === undefined) break
        const found = findTimestamp(records, fetched, timestamp)
        if (found >= 0) return found
        offset = fetched.nextOffset
      }
    }
    return this.limit()
  }

  /** Closes the files. */
  close(): void {
    fs.closeSync(this.statusFd)
    if (this.segmentFd >= 0) fs.closeSync(this.segmentFd)
    this.segmentFd = -1
  }
}

function findTimestamp(
  records: RecordBatchReader,
  fetched: FetchedBatches,
  timestamp: number,
): number {
  for (let at = 0; at < fetched.end; ) {
    if (maxTimestampOf(fetched.bytes, at) < timestamp) {
      at += batchSizeAt(fetched.bytes, at, fetched.end)
      continue
    }
    at = records.open(fetched.bytes, at, false)
    if (records.isControl) continue
    while (records.next()) {
      if (records.timestamp >= timestamp && records.offset >= fetched.fromOffset) {
        return records.offset
      }
    }
  }
  return -1
}

function outOfRange(offset: number, status: PartitionStatus): WeirError {
  const { logStart, endOffset } = status
  const message = `offset ${offset} is not in [${logStart}, ${endOffset}], what the partition holds`
  return new WeirError('OFFSET_OUT_OF_RANGE', message, { details: { offset, logStart, endOffset } })
}

function readAt(fd: number, buffer: Uint8Array, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.read(fd, buffer, 0, buffer.length, position, (error, read) => {
      if (error === null) resolve(read)
      else reject(new WeirError('CONNECTOR_FAILED', error.message, { cause: error }))
    })
  })
}

/** Bounds of a partition's folder. Throws UNKNOWN_TOPIC. */
export function partitionBounds(path: string): PartitionStatus {
  const status = findStatus(path)
  if (status === undefined) throw new WeirError('UNKNOWN_TOPIC', `${path} is no partition of a log`)
  return status
}
