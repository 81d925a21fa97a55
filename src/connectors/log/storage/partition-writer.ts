import { asWeirError, WeirError } from '../../../core/errors.ts'
import { DurableFolders } from '../../../files/durable-folders.ts'
import type { FileSystem, OpenFile } from '../../../files/file-system.ts'
import { placeBatch } from '../../../wire/batch/position-checksum.ts'
import {
  BATCH_HEADER_SIZE,
  batchSizeAt,
  lastOffsetOf,
  maxTimestampOf,
} from '../../../wire/batch/record-batch-format.ts'
import type { AbortedRange } from './aborted-index.ts'
import { isFullDisk, markFailedSync, rewriteAfterFailedSync } from './failed-sync.ts'
import { markOfFolder } from './partition-identity.ts'
import {
  type RecoveredPartition,
  recoverPartition,
  type SegmentInfo,
} from './partition-recovery.ts'
import { PartitionSegments, type PlacedBatch } from './partition-segments.ts'
import { encodeStatus, type PartitionStatus, statusPath } from './partition-status.ts'
import { PartitionTransactions, type TransactionsOptions } from './partition-transactions.ts'
import { SegmentEnd } from './retention.ts'
import type { IndexEntry } from './segment-files.ts'
import type { TopicConfig } from './topic-config.ts'

/** An append that waits for the group write in progress. */
interface PendingAppend extends PlacedBatch {
  /** Runs when the batch is written, before its append resolves. */
  readonly written: (() => void) | undefined
  readonly resolve: (baseOffset: number) => void
  readonly reject: (error: unknown) => void
}

/** Options of a `PartitionWriter`. */
export interface PartitionOptions extends TransactionsOptions {
  /** Whether every group write is followed by fdatasync before it is acknowledged. */
  readonly syncEveryWrite: boolean
  /** Called after every change of the status. */
  readonly onChange: (status: PartitionStatus) => void
  /** Called with what a person should know; default: a warning of the process. */
  readonly warn?: (message: string) => void
  /** Called once, when a write or sync has failed. */
  readonly onFailure?: () => void
}

/** A partition's folder after recovery. */
interface OpenedPartition {
  readonly path: string
  readonly config: TopicConfig
  readonly options: PartitionOptions
  readonly recovered: RecoveredPartition
  readonly segments: PartitionSegments
}

/** Most batches of one group write: the limit of `writev`. */
const MAX_GROUP_SIZE = 512

/**
 * The writing side of one partition: there is one instance per partition and machine. Appends that
 * arrive during a write are written together in the next one (group commit).
 */
export class PartitionWriter {
  readonly path: string
  readonly config: TopicConfig
  /** Mark of the partition in its batches. */
  readonly mark: number
  readonly transactions: PartitionTransactions
  private readonly options: PartitionOptions
  private readonly segments: PartitionSegments
  private readonly statusFile: OpenFile
  private pending: PendingAppend[] = []
  private flushing: Promise<void> | undefined
  /** Offset of the next append that is queued. */
  private nextOffset: number
  /** Offset after the last written batch; at most `nextOffset`. */
  private writtenOffset: number
  private failure: WeirError | undefined
  private isSyncFailed = false
  /** The forced size in the status file. */
  private storedForced = 0
  private readonly segmentEnd: SegmentEnd

  private constructor({ path, config, options, recovered, segments }: OpenedPartition) {
    this.path = path
    this.config = config
    this.options = options
    this.segments = segments
    this.mark = markOfFolder(options.files, path)
    this.segmentEnd = new SegmentEnd(config)
    this.nextOffset = recovered.endOffset
    this.writtenOffset = recovered.endOffset
    this.transactions = new PartitionTransactions(path, options)
    this.transactions.abortedCount = recovered.abortedCount
    this.statusFile = options.files.openSync(statusPath(path), 'change')
  }

  /** Opens a partition's folder and cuts off batches that a crash left incomplete. */
  static async open(
    path: string,
    config: TopicConfig,
    options: PartitionOptions,
  ): Promise<PartitionWriter> {
    await new DurableFolders(options.files, path).make(path)
    await rewriteAfterFailedSync(options.files, path)
    const recovered = recoverPartition(options.files, path, options.warn)
    const segments = await PartitionSegments.open(options.files, path, recovered)
    const partition = new PartitionWriter({ path, config, options, recovered, segments })
    partition.publish()
    return partition
  }

  /** The file system of the partition's folder. */
  get files(): FileSystem {
    return this.options.files
  }

  /** The status that readers get. */
  get status(): PartitionStatus {
    const { active, logStart, generation, forcedSize } = this.segments
    return {
      logStart,
      endOffset: this.writtenOffset,
      lastStable: this.transactions.lastStable(this.writtenOffset),
      activeBase: active.base,
      activeSize: active.size,
      abortedCount: this.transactions.abortedCount,
      generation,
      forcedSize,
      ...(this.isSyncFailed ? { isSyncFailed: true } : {}),
    }
  }

  /** The offset that the next append will get. */
  get endOffset(): number {
    return this.nextOffset
  }

  /**
   * Appends one whole batch, whose base offset is set here, and resolves with that offset once the
   * batch is written (and synced, if so chosen). `written` runs just before. Throws MALFORMED_DATA,
   * CONNECTOR_FAILED.
   */
  append(batch: Uint8Array, written?: () => void): Promise<number> {
    if (this.failure !== undefined) return Promise.reject(this.failure)
    if (batch.length < BATCH_HEADER_SIZE || batchSizeAt(batch, 0, batch.length) !== batch.length) {
      return Promise.reject(
        new WeirError('MALFORMED_DATA', 'an append is exactly one record batch'),
      )
    }
    const baseOffset = this.nextOffset
    placeBatch(batch, 0, { baseOffset, mark: this.mark })
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
    const room = this.segmentEnd.bytes - this.segments.active.size
    let size = 0
    let count = 0
    while (count < this.pending.length && count < MAX_GROUP_SIZE) {
      size += this.pending[count]!.batch.length
      if (size > room && count > 0) break
      count += 1
      if (size > room) break
    }
    return this.pending.splice(0, count)
  }

  private async writeGroup(group: readonly PendingAppend[]): Promise<void> {
    const { segments, options } = this
    const size = group.reduce((sum, append) => sum + append.batch.length, 0)
    const { batch, baseOffset } = group[0]!
    const next = { bytes: size, timestamp: maxTimestampOf(batch, 0) }
    if (this.segmentEnd.isBefore(next, segments.active)) await segments.roll(baseOffset)
    await segments.write(group, options.syncEveryWrite)
    // Without a wait in between, because `status` reads sizes and offsets together.
    const entries = segments.account(group)
    for (const append of group) {
      this.writtenOffset = lastOffsetOf(append.batch, 0) + 1
      append.written?.()
    }
    if (entries.length > 0) await segments.appendIndex(entries)
    this.publish()
  }

  /** Writes the status for readers and announces the change. */
  private publish(): void {
    this.options.onChange(this.storeStatus())
  }

  private storeStatus(): PartitionStatus {
    const status = this.status
    this.statusFile.writeSync([encodeStatus(status)], 0)
    this.storedForced = status.forcedSize
    return status
  }

  /**
   * After a failed write the end of the file is unknown, and after a failed sync the system may have
   * lost what it was to force: all calls fail until the partition is reopened.
   */
  private fail(group: readonly PendingAppend[], cause: unknown): void {
    if (this.failure === undefined) {
      // A write that found no room has lost nothing that was written before.
      if (!isFullDisk(cause)) this.markFailed()
      this.failure = asWeirError(cause, 'CONNECTOR_FAILED', `${this.path} stopped`)
      this.options.onFailure?.()
    }
    for (const append of [...group, ...this.pending.splice(0)]) append.reject(this.failure)
  }

  private markFailed(): void {
    if (markFailedSync(this.files, this.path)) return
    // A group that is written meanwhile stores the status, too.
    this.isSyncFailed = true
    try {
      this.storeStatus()
    } catch {
      // A disk that takes neither takes no records either.
    }
  }

  /** Whether a write or sync has failed, so that all calls fail. */
  get hasFailed(): boolean {
    return this.failure !== undefined
  }

  /** Stores an aborted range, durably, before its marker is written. Throws DISK_FULL, CONNECTOR_FAILED. */
  async addAborted(range: AbortedRange): Promise<void> {
    this.requireUsable()
    try {
      await this.transactions.addAborted(range)
    } catch (error) {
      const doing = `${this.path}: an aborted transaction could not be stored`
      throw asWeirError(error, 'CONNECTOR_FAILED', doing)
    }
  }

  private requireUsable(): void {
    if (this.failure !== undefined) throw this.failure
  }

  /** Waits for queued appends and forces everything written to the disk. */
  async sync(): Promise<void> {
    await this.flushing
    this.requireUsable()
    try {
      await this.segments.sync()
      if (this.segments.forcedSize !== this.storedForced) this.storeStatus()
    } catch (error) {
      this.fail([], error)
      throw this.failure
    }
  }

  /**
   * Lets the active segment end with the next write if retention needs its end; at once where all of its records are
   * older than what is kept. Throws CONNECTOR_FAILED.
   */
  async endOldSegment(nowMs: number): Promise<void> {
    this.segmentEnd.checkAge(this.segments.active, nowMs)
    const { retentionMs } = this.config
    const isExpired = (): boolean => {
      const { size, maxTimestamp } = this.segments.active
      return size > 0 && maxTimestamp >= 0 && maxTimestamp < nowMs - retentionMs
    }
    if (retentionMs < 0 || !isExpired()) return
    while (this.flushing !== undefined) await this.flushing
    // What was written meanwhile is newer.
    if (isExpired()) await this.endSegment()
  }

  /** Ends the active segment now, if it holds batches: only closed segments can be written again. Throws CONNECTOR_FAILED. */
  async endSegment(): Promise<void> {
    while (this.flushing !== undefined) await this.flushing
    this.requireUsable()
    if (this.segments.active.size === 0) return
    this.flushing = this.rollThenFlush()
    await this.flushing
    this.requireUsable()
  }

  private async rollThenFlush(): Promise<void> {
    try {
      await this.segments.roll(this.writtenOffset)
      this.publish()
    } catch (error) {
      this.fail([], error)
    }
    await this.flushLoop()
  }

  /** The segments before the active one, oldest first. */
  closedSegments(): readonly SegmentInfo[] {
    return this.segments.closed
  }

  /** Offset after the last one that a segment may hold. */
  endOfSegment(segment: SegmentInfo): number {
    return this.segments.endOf(segment) ?? this.writtenOffset
  }

  /** Removes the oldest closed segments; readers inside them get OFFSET_OUT_OF_RANGE. */
  dropOldest(count: number): void {
    this.requireUsable()
    const dropped = this.segments.takeOldest(count)
    this.publish()
    // Segments that come back after a power cut are then known to be removed.
    this.statusFile.datasyncSync()
    this.segments.deleteFiles(dropped)
  }

  /** Puts `<base>.log.tmp`, of `size` bytes, in the place of a closed segment. */
  replaceSegment(segment: SegmentInfo, size: number, index: readonly IndexEntry[]): void {
    this.requireUsable()
    this.segments.replace(segment, size, index)
    this.publish()
  }

  /** Waits for queued appends, syncs and closes the files. Throws CONNECTOR_FAILED when the disk fails. */
  async close(): Promise<void> {
    await this.flushing
    await this.transactions.settled()
    try {
      await this.forceAndClose()
    } catch (error) {
      const doing = `${this.path}: the last records could not be forced to the disk`
      throw asWeirError(error, 'CONNECTOR_FAILED', doing)
    }
  }

  private async forceAndClose(): Promise<void> {
    try {
      if (this.failure === undefined) {
        await this.segments.forceAll()
        this.storeStatus()
      }
    } finally {
      await this.segments.closeFiles()
      this.statusFile.closeSync()
    }
  }
}
