import {
  bytes,
  flag,
  kindOf,
  numberIn,
  objectWith,
  wholeNumber,
} from '../../../core/options/kinds.ts'
import { checkArgument, type OptionShape } from '../../../core/options/shape.ts'
import type { FileSystem, OpenFile } from '../../../files/file-system.ts'
import { nodeFileSystem } from '../../../files/node-file-system.ts'
import { checkBatch } from '../../../wire/batch/check-batch.ts'
import { checkPosition } from '../../../wire/batch/position-checksum.ts'
import {
  BATCH_HEADER_SIZE,
  baseOffsetOf,
  batchSizeAt,
  lastOffsetOf,
} from '../../../wire/batch/record-batch-format.ts'
import { RecordBatchReader } from '../../../wire/batch/record-batch-reader.ts'
import { ISOLATION, type Isolation } from '../../records/topic-options.ts'
import { AbortedRanges, abortedPath, readAborted } from './aborted-index.ts'
import { damagedLog, isDamage, reasonOf } from './damage.ts'
import { type FetchedBatches, findTimestamp } from './fetched-batches.ts'
import { markOfFolder, requireOwnPlace } from './partition-identity.ts'
import {
  missingStatus,
  outOfRange,
  type PartitionStatus,
  readStatusBytes,
  STATUS_SIZE,
  statusOfBytes,
  statusPath,
} from './partition-status.ts'
import { SegmentCursor } from './segment-cursor.ts'
import { INDEX_INTERVAL_BYTES, listSegments, readIndex } from './segment-files.ts'

/** Options of a `PartitionReader`. */
export interface PartitionReaderOptions {
  /** Default `read_committed`. */
  readonly isolation?: Isolation
  /** Whether checksums are verified when batches are read; default true. */
  readonly verifyChecksums?: boolean
  /** Default: the file system of this machine. */
  readonly files?: FileSystem
}

/** The options of a `PartitionReader`. */
export const PARTITION_READER: OptionShape<PartitionReaderOptions> = {
  isolation: ISOLATION,
  verifyChecksums: flag,
  files: objectWith('a file system', 'openSync'),
}

const OFFSET = wholeNumber({ min: 0 })
const TIMESTAMP = numberIn()
const STATUS = kindOf<PartitionStatus>(
  'the status of the partition, as status() returns it',
  (given) => typeof (given as Partial<PartitionStatus> | null)?.lastStable === 'number',
)

const NONE_ABORTED = new AbortedRanges([])
const SMALLEST_BUFFER = 64 * 1024
/** Most bytes that `fetchNow` reads: a copy of about 30 us. */
const MAX_READ_NOW = 256 * 1024

/**
 * Reads one partition from its files, in any thread and any process, while the writer writes. The
 * reader remembers its position, so a sequential read needs no search.
 */
export class PartitionReader {
  private readonly path: string
  private readonly files: FileSystem
  private readonly committed: boolean
  private readonly verify: boolean
  private readonly statusFile: OpenFile
  private readonly scratch = new Uint8Array(STATUS_SIZE)
  private readonly lastBytes = new Uint8Array(STATUS_SIZE)
  private lastStatus: PartitionStatus | undefined
  /** Mark of the partition's batches. A folder of an earlier build gets one when it is opened for writing. */
  private mark: number
  private readonly cursor: SegmentCursor
  /** Generation of the partition when the segment was opened. */
  private generation = -1
  /** Offset after the last batch that was read, or the one that was looked for; -1 when unknown. */
  private positionOffset = -1
  private aborted: AbortedRanges = NONE_ABORTED
  private abortedCount = 0

  /**
   * Opens the partition in the folder `path`. Throws UNKNOWN_TOPIC when there is none, MALFORMED_DATA when its status
   * is missing or the folder belongs elsewhere.
   */
  constructor(path: string, options: PartitionReaderOptions = {}) {
    this.path = path
    this.files = options.files ?? nodeFileSystem
    this.cursor = new SegmentCursor(this.files, path)
    this.committed = options.isolation !== 'read_uncommitted'
    this.verify = options.verifyChecksums !== false
    requireOwnPlace(this.files, path)
    this.mark = markOfFolder(this.files, path)
    try {
      this.statusFile = this.files.openSync(statusPath(path), 'read')
    } catch (cause) {
      throw missingStatus(this.files, path, cause)
    }
  }

  /** The partition's current status: one small read. */
  status(): PartitionStatus {
    readStatusBytes(this.statusFile, this.scratch)
    if (this.lastStatus !== undefined && Buffer.compare(this.scratch, this.lastBytes) === 0) {
      return this.lastStatus
    }
    this.lastStatus = statusOfBytes(this.statusFile, this.scratch)
    this.lastBytes.set(this.scratch)
    return this.lastStatus
  }

  /** The first offset that cannot be read yet. */
  limit(status: PartitionStatus = this.status()): number {
    checkArgument('limit', 'status', STATUS, status)
    return this.committed ? status.lastStable : status.endOffset
  }

  /**
   * Reads whole batches from `offset` on into `buffer`, or into a larger one if a single batch needs
   * it; undefined when there are none yet. No batches and a later `nextOffset` mean that compaction
   * removed the records. Throws OFFSET_OUT_OF_RANGE, and MALFORMED_DATA or CHECKSUM_MISMATCH where a file
   * is damaged: records are never skipped.
   */
  async fetch(
    offset: number,
    buffer: Uint8Array<ArrayBuffer>,
  ): Promise<FetchedBatches | undefined> {
    checkArgument('fetch', 'offset', OFFSET, offset)
    checkArgument('fetch', 'buffer', bytes, buffer)
    try {
      return await this.fetchOnce(offset, buffer, this.status())
    } catch (error) {
      if (!isDamage(error)) throw error
      // Retention or compaction may have replaced the files since they were opened.
      this.positionOffset = -1
      this.mark = markOfFolder(this.files, this.path)
      return await this.fetchOnce(offset, buffer, this.status())
    }
  }

  private async fetchOnce(
    offset: number,
    buffer: Uint8Array<ArrayBuffer>,
    status: PartitionStatus,
  ): Promise<FetchedBatches | undefined> {
    if (offset > status.endOffset) throw outOfRange(offset, status)
    if (offset < status.logStart) return this.skipToStart(offset, status, buffer)
    const limit = this.limit(status)
    if (offset >= limit) return undefined
    if (this.positionOffset !== offset || this.isReplaced(status)) this.seek(offset, status)
    this.refreshAborted(status)
    return await this.read(offset, status, buffer)
  }

  /** Of a compacted topic only segments without records are removed: a reader in them misses nothing. */
  private skipToStart(
    offset: number,
    status: PartitionStatus,
    buffer: Uint8Array<ArrayBuffer>,
  ): FetchedBatches {
    if (this.cursor.cleanupPolicy !== 'compact') throw outOfRange(offset, status)
    this.seek(status.logStart, status)
    return this.fetched(buffer, 0, offset)
  }

  /** Whether the active segment may be another file now: the writer may have opened it again. */
  private isReplaced({ generation, activeBase }: PartitionStatus): boolean {
    return this.generation !== generation && this.cursor.base === activeBase
  }

  private seek(offset: number, status: PartitionStatus): void {
    this.positionOffset = -1
    this.cursor.seek(offset)
    this.positionOffset = offset
    this.generation = status.generation
  }

  /**
   * Like `fetch`, but in the calling thread, for a reader that has caught up with the writer: the last
   * records are few and in the page cache, so that reading them takes less time than a request to
   * another thread. 'later': use `fetch`.
   */
  fetchNow(offset: number, buffer: Uint8Array<ArrayBuffer>): FetchedBatches | 'later' | undefined {
    checkArgument('fetchNow', 'offset', OFFSET, offset)
    checkArgument('fetchNow', 'buffer', bytes, buffer)
    const status = this.status()
    const limit = this.limit(status)
    if (offset === limit && offset >= status.logStart) return undefined
    const left = status.activeSize - this.cursor.position
    if (
      this.positionOffset !== offset ||
      offset < status.logStart ||
      offset > limit ||
      this.cursor.base !== status.activeBase ||
      this.isReplaced(status) ||
      left > Math.min(MAX_READ_NOW, buffer.length)
    ) {
      return 'later'
    }
    this.refreshAborted(status)
    const filled = this.cursor.readNow(buffer, left)
    const end = filled < left ? 0 : this.takeIntact(buffer, filled, limit)
    return end === 0 ? 'later' : this.fetched(buffer, end, offset)
  }

  /** As `take`, but 0 for a damage, which `fetch` explains. */
  private takeIntact(buffer: Uint8Array, filled: number, limit: number): number {
    try {
      return this.take(buffer, filled, limit)
    } catch {
      return 0
    }
  }

  private async read(
    offset: number,
    status: PartitionStatus,
    given: Uint8Array<ArrayBuffer>,
  ): Promise<FetchedBatches> {
    const limit = this.limit(status)
    let buffer = given.length < SMALLEST_BUFFER ? new Uint8Array(SMALLEST_BUFFER) : given
    for (;;) {
      const left = this.cursor.left(status)
      if (left === 0) {
        if (this.cursor.openNext(limit, status)) continue
        this.positionOffset = limit
        return this.fetched(buffer, 0, offset)
      }
      const filled = await this.cursor.read(buffer, left)
      const size = this.cursor.batchSize(buffer, filled, left)
      if (size > buffer.length) {
        const base = baseOffsetOf(buffer, 0)
        const { expected } = this.cursor
        if (base !== expected) this.cursor.requireOrder(buffer, 0, expected, limit)
        buffer = new Uint8Array(size)
        continue
      }
      const end = this.take(buffer, filled, limit)
      if (end === 0) this.positionOffset = limit
      else if (this.positionOffset <= offset) continue
      return this.fetched(buffer, end, offset)
    }
  }

  private fetched(bytes: Uint8Array<ArrayBuffer>, end: number, fromOffset: number): FetchedBatches {
    const aborted = this.committed ? this.aborted : NONE_ABORTED
    return { bytes, end, fromOffset, nextOffset: this.positionOffset, aborted }
  }

  /**
   * Counts the whole visible batches of the filled buffer: moves the position behind them and returns
   * their end in the buffer, 0 when the first is not visible. A damaged batch ends them; throws
   * MALFORMED_DATA or CHECKSUM_MISMATCH when it is the first.
   */
  private take(buffer: Uint8Array, filled: number, limit: number): number {
    const { cursor } = this
    let at = 0
    let expected = cursor.expected
    try {
      while (filled - at >= BATCH_HEADER_SIZE) {
        const base = baseOffsetOf(buffer, at)
        if (base !== expected) cursor.requireOrder(buffer, at, expected, limit)
        if (base >= limit) break
        const size = batchSizeAt(buffer, at, filled)
        if (at + size > filled) break
        // Where compaction left gaps, a wrong base offset would be another position.
        checkPosition(buffer, at, this.mark)
        if (this.verify) checkBatch(buffer, at, filled)
        expected = lastOffsetOf(buffer, at) + 1
        at += size
      }
    } catch (error) {
      if (at === 0) throw isDamage(error) ? error : cursor.damaged(reasonOf(error), error)
    }
    if (at > 0) this.positionOffset = expected
    cursor.expected = expected
    cursor.position += at
    return at
  }

  private refreshAborted(status: PartitionStatus): void {
    if (!this.committed || status.abortedCount === this.abortedCount) return
    const ranges = readAborted(this.files, this.path)
    if (ranges.length < status.abortedCount) {
      const place = { file: abortedPath(this.path), position: 0, offset: status.logStart }
      throw damagedLog(
        place,
        `it holds ${ranges.length} of ${status.abortedCount} aborted transactions`,
      )
    }
    this.aborted = new AbortedRanges(ranges)
    this.abortedCount = status.abortedCount
  }

  /** First offset of a record with a timestamp >= `timestamp` ms; the limit when there is none. */
  async offsetFor(timestamp: number): Promise<number> {
    checkArgument('offsetFor', 'timestamp', TIMESTAMP, timestamp)
    const buffer = new Uint8Array(2 * INDEX_INTERVAL_BYTES)
    const bases = listSegments(this.files, this.path)
    const records = new RecordBatchReader()
    for (let i = 0; i < bases.length; i++) {
      const entries = readIndex(this.files, this.path, bases[i]!) ?? []
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
    this.statusFile.closeSync()
    this.cursor.close()
  }
}
