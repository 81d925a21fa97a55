import { basename, dirname, join } from 'node:path'
import { asWeirError, type WeirError } from '../../../core/errors.ts'
import { readFully } from '../../../files/durable-files.ts'
import type { FileSystem, OpenFile } from '../../../files/file-system.ts'
import {
  BATCH_HEADER_SIZE,
  baseOffsetOf,
  batchSizeAt,
  lastOffsetOf,
} from '../../../wire/batch/record-batch-format.ts'
import type { CleanupPolicy } from '../../records/topic-options.ts'
import { readCompacted } from './compacted-offset.ts'
import { damagedLog, reasonOf } from './damage.ts'
import type { PartitionStatus } from './partition-status.ts'
import { listSegments, logFileName, readIndex } from './segment-files.ts'
import { readTopicConfig } from './topic-config.ts'

/** Position of a reader in the segments of one partition. */
export class SegmentCursor {
  /** Base of the open segment; -1 when none is open. */
  base = -1
  /** Position of the next batch in the segment's file. */
  position = 0
  /** Base offset of the batch at `position`; compaction may leave a larger one. */
  expected = -1
  private readonly files: FileSystem
  private readonly path: string
  private file: OpenFile | undefined
  /** Whether the segment was closed when its size was last looked for. */
  private isClosed = false

  /** `path`: the partition's folder. */
  constructor(files: FileSystem, path: string) {
    this.files = files
    this.path = path
  }

  /**
   * Moves to `offset`: finds the segment by its name and a batch shortly before it by the index. Throws
   * MALFORMED_DATA when the segment is missing.
   */
  seek(offset: number): void {
    const base = listSegments(this.files, this.path).findLast((candidate) => candidate <= offset)
    if (base === undefined) throw this.missing(offset)
    this.open(base)
    const entries = readIndex(this.files, this.path, base) ?? []
    const header = new Uint8Array(8)
    for (let i = entries.length - 1; i >= 0; i--) {
      const entry = entries[i]!
      if (entry.offset > offset) continue
      const read = this.file!.readSync(header, entry.position)
      // Compaction replaces index and log one after the other: use only entries that match the log.
      if (read === 8 && baseOffsetOf(header, 0) === entry.offset) {
        this.position = entry.position
        this.expected = entry.offset
        return
      }
    }
  }

  /** Moves to the first batch of a segment. */
  open(base: number): void {
    const path = join(this.path, logFileName(base))
    let opened: OpenFile
    try {
      opened = this.files.openSync(path, 'read')
    } catch (cause) {
      const error = asWeirError(cause, 'CONNECTOR_FAILED')
      throw error.code === 'FILE_NOT_FOUND' ? this.missing(base) : error
    }
    this.close()
    this.file = opened
    this.base = base
    this.isClosed = false
    this.position = 0
    this.expected = base
  }

  /** Bytes of whole batches from the position on. */
  left({ activeBase, activeSize }: PartitionStatus): number {
    this.isClosed = this.base !== activeBase
    const size = this.isClosed ? this.file!.sizeSync() : activeSize
    return Math.max(0, size - this.position)
  }

  /** Reads up to `length` bytes at the position, in the calling thread. */
  readNow(buffer: Uint8Array, length: number): number {
    return this.file!.readSync(buffer, this.position, length)
  }

  /** Fills the buffer from the position on, with at most `left` bytes. Throws MALFORMED_DATA. */
  async read(buffer: Uint8Array, left: number): Promise<number> {
    const wanted = Math.min(buffer.length, left)
    let filled: number
    try {
      filled = await readFully(this.file!, buffer, this.position, wanted)
    } catch (cause) {
      throw asWeirError(cause, 'CONNECTOR_FAILED', this.file!.path)
    }
    if (filled === wanted) return filled
    throw this.damaged(`the file ends ${wanted - filled} bytes before the records do`)
  }

  /** Size of the batch at the position, whose first bytes are in `buffer`. Throws MALFORMED_DATA. */
  batchSize(buffer: Uint8Array, filled: number, left: number): number {
    if (filled < BATCH_HEADER_SIZE) throw this.damaged(`${left} bytes are no whole batch`)
    let size: number
    try {
      size = batchSizeAt(buffer, 0, filled)
    } catch (cause) {
      throw this.damaged(reasonOf(cause), cause)
    }
    if (size <= left) return size
    throw this.damaged(`the batch claims ${size} bytes, and ${left} follow`)
  }

  /**
   * Moves to the segment after the current one; false when there is none with visible records. Throws
   * MALFORMED_DATA when records between them are missing.
   */
  openNext(limit: number, status: PartitionStatus): boolean {
    if (this.base >= status.activeBase) {
      throw this.damaged(`the file ends, and the status says that records up to ${limit} follow`)
    }
    const next = listSegments(this.files, this.path).find((base) => base > this.base)
    if (next === undefined) throw this.damaged(`the segment ${status.activeBase} is missing`)
    const isGap = next > this.expected && this.isCompacted
    const mayEndEarly = isGap && !readCompacted(this.files, this.path).hasEnds
    if (next !== this.expected && !mayEndEarly) {
      throw this.damaged(`the records from here to offset ${next - 1} are missing`)
    }
    if (next >= limit) return false
    this.open(next)
    return true
  }

  /**
   * Throws MALFORMED_DATA when the batch at `at` of the buffer does not begin at `expected`. Where
   * compaction leaves gaps it may begin later, if it ends before the next segment and begins below `limit`,
   * the first offset that is not visible: only what is visible is compacted.
   */
  requireOrder(buffer: Uint8Array, at: number, expected: number, limit: number): void {
    const base = baseOffsetOf(buffer, at)
    const isGap = base > expected && base < limit
    if (isGap && this.isClosed && this.isCompacted) {
      const next = listSegments(this.files, this.path).find((other) => other > this.base)
      if (next === undefined || lastOffsetOf(buffer, at) < next) return
    }
    throw this.damaged(`the batch has the offset ${base}, not ${expected}`)
  }

  /** Whether compaction may have left gaps. */
  private get isCompacted(): boolean {
    return this.cleanupPolicy !== 'delete'
  }

  /** The policy of the topic, read from its file. */
  get cleanupPolicy(): CleanupPolicy {
    const topic = dirname(this.path)
    return readTopicConfig(dirname(topic), basename(topic), this.files).cleanupPolicy
  }

  /** The error of a damage at the position. */
  damaged(why: string, cause?: unknown): WeirError {
    const { file, position, expected: offset } = this
    return damagedLog({ file: file!.path, position, offset }, why, cause)
  }

  private missing(offset: number): WeirError {
    const file = join(this.path, logFileName(offset))
    return damagedLog({ file, position: 0, offset }, 'no segment holds this offset')
  }

  /** Closes the file. */
  close(): void {
    this.file?.closeSync()
    this.file = undefined
  }
}
