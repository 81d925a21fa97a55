import * as fs from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import * as fsp from 'node:fs/promises'
import { join } from 'node:path'
import {
  BATCH_HEADER_SIZE,
  batchSizeAt,
  lastOffsetOf,
  maxTimestampOf,
  setBaseOffset,
} from '../../batch/record-batch-format.ts'
import { messageOf, WeirError } from '../../core/errors.ts'
import { recoverPartition, rewriteIndex, type SegmentInfo } from './partition-recovery.ts'
import { encodeStatus, type PartitionStatus, statusPath } from './partition-status.ts'
import { PartitionTransactions } from './partition-transactions.ts'
import {
  encodeIndexEntry,
  encodeIndexHeader,
  INDEX_ENTRY_SIZE,
  INDEX_HEADER_SIZE,
  INDEX_INTERVAL_BYTES,
  type IndexEntry,
  indexFileName,
  logFileName,
} from './segment-files.ts'
import type { TopicConfig } from './topic-config.ts'

/** Appends that wait for the group write under way. */
interface PendingAppend {
  readonly batch: Uint8Array
  readonly baseOffset: number
  /** Runs when the batch is written, before its append resolves. */
  readonly written: (() => void) | undefined
  readonly resolve: (baseOffset: number) => void
  readonly reject: (error: unknown) => void
}

/** What a partition tells and asks its owner. */
export interface PartitionOptions {
  /** Whether every group write is followed by fdatasync before it is acknowledged. */
  readonly syncEveryWrite: boolean
  /** Transactions that are open from before: producer id and first possible offset. */
  readonly openTransactions: readonly (readonly [producerId: number, firstOffset: number])[]
  /** Called after every change of the status. */
  readonly onChange: (status: PartitionStatus) => void
}

const WRITEV_LIMIT = 512
/** Most bytes that are written at once: a copy into the page cache of about 20 us. */
const MOST_WRITTEN_NOW = 128 * 1024

/**
 * The writing side of one partition: one instance per partition and machine. Appends that arrive
 * while a write is under way go out together in the next one (group commit).
 */
export class PartitionLog {
  readonly path: string
  readonly config: TopicConfig
  readonly transactions: PartitionTransactions
  private readonly options: PartitionOptions
  /** Closed segments, oldest first, then the active one. */
  private segments: SegmentInfo[] = []
  private log: FileHandle | undefined
  private index: FileHandle | undefined
  private statusFd = -1
  private pending: PendingAppend[] = []
  private flushing: Promise<void> | undefined
  /** Offset for the next append that is queued; `written` trails it. */
  private nextOffset = 0
  private writtenOffset = 0
  private sinceIndexEntry = 0
  private indexEntries = 0
  private generation = 0
  private dirty = false
  private failure: WeirError | undefined

  private constructor(path: string, config: TopicConfig, options: PartitionOptions) {
    this.path = path
    this.config = config
    this.options = options
    const { openTransactions, syncEveryWrite } = options
    this.transactions = new PartitionTransactions(path, openTransactions, syncEveryWrite)
  }

  /** Opens a partition's folder, cutting off what a crash left torn. */
  static async open(
    path: string,
    config: TopicConfig,
    options: PartitionOptions,
  ): Promise<PartitionLog> {
    const partition = new PartitionLog(path, config, options)
    await partition.recover()
    return partition
  }

  private async recover(): Promise<void> {
    fs.mkdirSync(this.path, { recursive: true })
    const found = recoverPartition(this.path)
    this.segments = found.segments
    this.nextOffset = found.endOffset
    this.writtenOffset = found.endOffset
    this.sinceIndexEntry = found.sinceIndexEntry
    this.indexEntries = found.indexEntries
    this.transactions.abortedCount = found.abortedCount
    this.generation = found.generation + 1
    this.statusFd = fs.openSync(statusPath(this.path), fs.constants.O_RDWR | fs.constants.O_CREAT)
    if (this.segments.length === 0) await this.addSegment(this.nextOffset)
    else await this.openActive()
    this.publish()
  }

  /** What readers see. */
  get status(): PartitionStatus {
    const active = this.active
    return {
      logStart: this.segments[0]!.base,
      endOffset: this.writtenOffset,
      lastStable: this.transactions.lastStable(this.writtenOffset),
      activeBase: active.base,
      activeSize: active.size,
      abortedCount: this.transactions.abortedCount,
      generation: this.generation,
    }
  }

  /** The offset that the next append will get. */
  get endOffset(): number {
    return this.nextOffset
  }

  private get active(): SegmentInfo {
    return this.segments[this.segments.length - 1]!
  }

  /**
   * Appends one whole batch, whose base offset is set here, and resolves with that offset once it is
   * written (and synced, if so chosen). `written` runs just before.
   */
  append(batch: Uint8Array, written?: () => void): Promise<number> {
    if (this.failure !== undefined) return Promise.reject(this.failure)
    if (batch.length < BATCH_HEADER_SIZE || batchSizeAt(batch, 0, batch.length) !== batch.length) {
      return Promise.reject(
        new WeirError('MALFORMED_DATA', 'an append is exactly one record batch'),
      )
    }
    const baseOffset = this.nextOffset
    setBaseOffset(batch, 0, baseOffset)
    this.nextOffset = lastOffsetOf(batch, 0) + 1
    return new Promise((resolve, reject) => {
      this.pending.push({ batch, baseOffset, written, resolve, reject })
      this.flushing ??= this.flushLoop()
    })
  }

  private async flushLoop(): Promise<void> {
    // One turn of the microtask queue lets appends of the same turn join the first write.
    await undefined
    while (this.pending.length > 0) {
      const group = this.nextGroup()
      try {
        await this.writeGroup(group)
      } catch (error) {
        this.fail(group, error)
        break
      }
      for (const append of group) append.resolve(append.baseOffset)
    }
    this.flushing = undefined
  }

  /** The longest prefix of the queue that fits the active segment, at least one batch. */
  private nextGroup(): PendingAppend[] {
    const room = this.config.segmentBytes - this.active.size
    let size = 0
    let count = 0
    while (count < this.pending.length && count < WRITEV_LIMIT) {
      size += this.pending[count]!.batch.length
      if (size > room && count > 0) break
      count += 1
      if (size > room) break
    }
    return this.pending.splice(0, count)
  }

  private async writeGroup(group: readonly PendingAppend[]): Promise<void> {
    const size = group.reduce((sum, append) => sum + append.batch.length, 0)
    if (this.active.size > 0 && this.active.size + size > this.config.segmentBytes) {
      await this.roll(group[0]!.baseOffset)
    }
    const active = this.active
    await writeFully(
      this.log!,
      group.map((append) => append.batch),
      active.size,
    )
    if (this.options.syncEveryWrite) await this.log!.datasync()
    else this.dirty = true
    const entries = this.account(active, group)
    if (entries.length > 0) await this.appendIndex(entries)
    this.publish()
  }

  /** Counts a written group in and returns the index entries it gives. */
  private account(active: SegmentInfo, group: readonly PendingAppend[]): Uint8Array[] {
    const entries: Uint8Array[] = []
    for (const { batch, baseOffset, written } of group) {
      if (this.sinceIndexEntry >= INDEX_INTERVAL_BYTES) {
        const position = active.size
        const maxTimestampBefore = active.maxTimestamp
        entries.push(encodeIndexEntry({ offset: baseOffset, maxTimestampBefore, position }))
        this.sinceIndexEntry = 0
      }
      active.size += batch.length
      this.sinceIndexEntry += batch.length
      active.maxTimestamp = Math.max(active.maxTimestamp, maxTimestampOf(batch, 0))
      this.writtenOffset = lastOffsetOf(batch, 0) + 1
      written?.()
    }
    return entries
  }

  private async appendIndex(entries: readonly Uint8Array[]): Promise<void> {
    const position = INDEX_HEADER_SIZE + this.indexEntries * INDEX_ENTRY_SIZE
    await writeFully(this.index!, entries, position)
    this.indexEntries += entries.length
  }

  /** Writes the status for readers and tells the owner. */
  private publish(): void {
    const status = this.status
    fs.writeSync(this.statusFd, encodeStatus(status), 0, undefined, 0)
    this.options.onChange(status)
  }

  /** A failed write leaves the file's tail unknown: the partition takes nothing more until reopened. */
  private fail(group: readonly PendingAppend[], cause: unknown): void {
    const failure = new WeirError('CONNECTOR_FAILED', `${this.path}: ${messageOf(cause)}`, {
      cause,
    })
    this.failure = failure
    for (const append of [...group, ...this.pending.splice(0)]) append.reject(failure)
  }

  private async roll(base: number): Promise<void> {
    await this.syncFiles()
    await this.log!.close()
    await this.index!.close()
    await this.addSegment(base)
  }

  private async addSegment(base: number): Promise<void> {
    this.segments.push({ base, size: 0, maxTimestamp: -1 })
    this.sinceIndexEntry = 0
    this.indexEntries = 0
    this.generation += 1
    await this.openActive()
    await this.index!.write(encodeIndexHeader(), 0, INDEX_HEADER_SIZE, 0)
  }

  private async openActive(): Promise<void> {
    const flags = fs.constants.O_RDWR | fs.constants.O_CREAT
    const base = this.active.base
    this.log = await fsp.open(join(this.path, logFileName(base)), flags)
    this.index = await fsp.open(join(this.path, indexFileName(base)), flags)
  }

  private async syncFiles(): Promise<void> {
    this.dirty = false
    await this.log!.datasync()
    await this.index!.datasync()
  }

  /** Waits for queued appends and forces everything written to the disk. */
  async sync(): Promise<void> {
    await this.flushing
    if (this.failure !== undefined) throw this.failure
    if (this.dirty) {
      this.dirty = false
      await this.log!.datasync()
    }
  }

  /** The segments before the active one, oldest first. */
  closedSegments(): readonly SegmentInfo[] {
    return this.segments.slice(0, -1)
  }

  /** Offset after the last one that a closed segment may hold. */
  endOfSegment(segment: SegmentInfo): number {
    return this.segments[this.segments.indexOf(segment) + 1]?.base ?? this.writtenOffset
  }

  /** Removes the oldest closed segments; readers inside them get OFFSET_OUT_OF_RANGE. */
  dropOldest(count: number): void {
    const doomed = this.segments.splice(0, Math.min(count, this.segments.length - 1))
    this.generation += 1
    this.publish()
    for (const { base } of doomed) {
      fs.rmSync(join(this.path, indexFileName(base)), { force: true })
      fs.rmSync(join(this.path, logFileName(base)), { force: true })
    }
  }

  /**
   * Puts `<base>.log.tmp` in the place of a closed segment. The old index goes first: whoever finds
   * none scans the log.
   */
  replaceSegment(segment: SegmentInfo, size: number, index: readonly IndexEntry[]): void {
    const path = join(this.path, logFileName(segment.base))
    fs.rmSync(join(this.path, indexFileName(segment.base)), { force: true })
    fs.renameSync(`${path}.tmp`, path)
    rewriteIndex(this.path, segment.base, index)
    segment.size = size
    this.generation += 1
    this.publish()
  }

  /** Waits for queued appends, syncs and closes the files. */
  async close(): Promise<void> {
    await this.flushing
    if (this.failure === undefined) await this.syncFiles()
    await this.log!.close()
    await this.index!.close()
    fs.closeSync(this.statusFd)
  }
}

/**
 * Writes all buffers at `position`, again from where a short write ended. What is little is written in
 * this thread: handing it to another one takes longer.
 */
async function writeFully(
  file: FileHandle,
  buffers: readonly Uint8Array[],
  position: number,
): Promise<void> {
  let rest = [...buffers]
  let at = position
  const size = rest.reduce((sum, { length }) => sum + length, 0)
  while (rest.length > 0) {
    const bytesWritten =
      size <= MOST_WRITTEN_NOW
        ? fs.writevSync(file.fd, rest, at)
        : (await file.writev(rest, at)).bytesWritten
    at += bytesWritten
    rest = dropWritten(rest, bytesWritten)
  }
}

function dropWritten(buffers: readonly Uint8Array[], written: number): Uint8Array[] {
  let left = written
  let i = 0
  while (i < buffers.length && left >= buffers[i]!.length) left -= buffers[i++]!.length
  const rest = buffers.slice(i)
  if (left > 0) rest[0] = rest[0]!.subarray(left)
  return rest
}
