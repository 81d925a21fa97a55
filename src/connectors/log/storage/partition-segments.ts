import { join } from 'node:path'
import type { FileSystem, OpenFile } from '../../../files/file-system.ts'
import { writeFully } from '../../../files/write-fully.ts'
import { maxTimestampOf } from '../../../wire/batch/record-batch-format.ts'
import { type RecoveredPartition, rewriteIndex, type SegmentInfo } from './partition-recovery.ts'
import {
  encodeIndexEntry,
  encodeIndexHeader,
  INDEX_ENTRY_SIZE,
  INDEX_HEADER_SIZE,
  INDEX_INTERVAL_BYTES,
  type IndexEntry,
  indexPath,
  logFileName,
} from './segment-files.ts'

/** A batch with its base offset. */
export interface PlacedBatch {
  readonly batch: Uint8Array
  readonly baseOffset: number
}

/** The segment files of one partition as its writer uses them: the last segment is the active one. */
export class PartitionSegments {
  /** Grows when segments are added, removed or replaced. */
  generation: number
  private readonly files: FileSystem
  private readonly path: string
  /** Closed segments, oldest first, then the active one. */
  private readonly segments: SegmentInfo[]
  private log: OpenFile | undefined
  private index: OpenFile | undefined
  private sinceIndexEntry: number
  /** Entries in the active segment's index. */
  private indexEntries: number
  /** Writes so far, and how many of them are forced to the disk. */
  private writes = 1
  private forcedWrites = 0
  private forcing: Promise<void> | undefined
  /** Bytes of the active segment that are written, and how many of them are known to be forced. */
  private writtenSize = 0
  forcedSize = 0

  private constructor(files: FileSystem, path: string, recovered: RecoveredPartition) {
    this.files = files
    this.path = path
    this.segments = recovered.segments
    this.sinceIndexEntry = recovered.sinceIndexEntry
    this.indexEntries = recovered.indexEntries
    this.generation = recovered.generation + 1
  }

  /** Opens the active segment in the partition's folder `path`, or creates the first one. */
  static async open(
    files: FileSystem,
    path: string,
    recovered: RecoveredPartition,
  ): Promise<PartitionSegments> {
    const segments = new PartitionSegments(files, path, recovered)
    if (recovered.segments.length === 0) await segments.addSegment(recovered.endOffset)
    else await segments.openExisting()
    return segments
  }

  /** The first offset that is kept. */
  get logStart(): number {
    return this.segments[0]!.base
  }

  /** The segment to which batches are appended. */
  get active(): Readonly<SegmentInfo> {
    return this.lastSegment
  }

  private get lastSegment(): SegmentInfo {
    return this.segments[this.segments.length - 1]!
  }

  /** The segments before the active one, oldest first. */
  get closed(): readonly SegmentInfo[] {
    return this.segments.slice(0, -1)
  }

  /** Offset after the last one that a closed segment may hold; undefined for the active segment. */
  endOf(segment: SegmentInfo): number | undefined {
    return this.segments[this.segments.indexOf(segment) + 1]?.base
  }

  /**
   * Writes batches behind the active segment's last one. The batches count only after `account`: so
   * sizes and offsets of the partition can change together. `syncNow`: forces them to the disk.
   */
  async write(batches: readonly PlacedBatch[], syncNow: boolean): Promise<void> {
    const buffers = batches.map(({ batch }) => batch)
    this.writtenSize = this.active.size + (await writeFully(this.log!, buffers, this.active.size))
    this.writes += 1
    if (syncNow) await this.sync()
  }

  /** Adds the sizes and timestamps of written batches. Returns the index entries for `appendIndex`. */
  account(batches: readonly PlacedBatch[]): readonly Uint8Array[] {
    const active = this.lastSegment
    const entries: Uint8Array[] = []
    for (const { batch, baseOffset } of batches) {
      if (this.sinceIndexEntry >= INDEX_INTERVAL_BYTES) {
        const position = active.size
        const maxTimestampBefore = active.maxTimestamp
        entries.push(encodeIndexEntry({ offset: baseOffset, maxTimestampBefore, position }))
        this.sinceIndexEntry = 0
      }
      if (active.size === 0) active.firstTimestamp = maxTimestampOf(batch, 0)
      active.size += batch.length
      this.sinceIndexEntry += batch.length
      active.maxTimestamp = Math.max(active.maxTimestamp, maxTimestampOf(batch, 0))
    }
    return entries
  }

  /** Appends entries to the active segment's index. */
  async appendIndex(entries: readonly Uint8Array[]): Promise<void> {
    const position = INDEX_HEADER_SIZE + this.indexEntries * INDEX_ENTRY_SIZE
    await writeFully(this.index!, entries, position)
    this.indexEntries += entries.length
  }

  /** Closes the active segment and begins one whose first record has the offset `base`. */
  async roll(base: number): Promise<void> {
    await this.forceAll()
    await this.closeFiles()
    await this.addSegment(base)
  }

  private async addSegment(base: number): Promise<void> {
    const added: SegmentInfo = { base, size: 0, maxTimestamp: -1, firstTimestamp: -1 }
    await this.openFiles(added)
    try {
      await this.files.syncFolder(this.path)
    } catch (error) {
      // Their names may be lost at a power cut: the next process must create the files again.
      this.deleteFiles([added])
      throw error
    }
    // Only now: a status that is stored after a failure must not name files that may be missing.
    this.segments.push(added)
    this.sinceIndexEntry = 0
    this.indexEntries = 0
    this.writtenSize = 0
    this.forcedSize = 0
    this.generation += 1
    this.index!.writeSync([encodeIndexHeader()], 0)
  }

  /** The process that created the files may have ended before it forced them: `writes` begins at 1. */
  private async openExisting(): Promise<void> {
    await this.openFiles(this.active)
    this.writtenSize = this.active.size
    await this.files.syncFolder(this.path)
  }

  private async openFiles({ base }: SegmentInfo): Promise<void> {
    this.log = await this.files.open(join(this.path, logFileName(base)), 'change')
    this.index = await this.files.open(indexPath(this.path, base), 'change')
  }

  /**
   * Forces all written batches to the disk. Callers at the same time share one call of the system. After
   * a failure what was written may be lost for good: the partition must not be used any more.
   */
  async sync(): Promise<void> {
    const wanted = this.writes
    while (this.forcedWrites < wanted) {
      this.forcing ??= this.force().finally(() => {
        this.forcing = undefined
      })
      await this.forcing
    }
  }

  private async force(): Promise<void> {
    const { writes, writtenSize } = this
    await this.log!.datasync()
    this.forcedWrites = writes
    this.forcedSize = writtenSize
  }

  /** Takes the oldest closed segments out of the list; `deleteFiles` removes their files. */
  takeOldest(count: number): readonly SegmentInfo[] {
    this.generation += 1
    return this.segments.splice(0, Math.min(count, this.segments.length - 1))
  }

  /** Removes the files of segments. */
  deleteFiles(segments: readonly SegmentInfo[]): void {
    for (const { base } of segments) {
      this.files.removeSync(indexPath(this.path, base))
      this.files.removeSync(join(this.path, logFileName(base)))
    }
  }

  /**
   * Puts `<base>.log.tmp` in the place of a closed segment. The old index is removed first: a reader
   * that finds no index scans the log.
   */
  replace(segment: SegmentInfo, size: number, index: readonly IndexEntry[]): void {
    const path = join(this.path, logFileName(segment.base))
    this.files.removeSync(indexPath(this.path, segment.base))
    this.files.renameSync(`${path}.tmp`, path)
    rewriteIndex(this.files, indexPath(this.path, segment.base), index)
    segment.size = size
    this.generation += 1
  }

  /** Forces log and index of the active segment to the disk. */
  async forceAll(): Promise<void> {
    await this.sync()
    await this.index!.datasync()
  }

  /** Closes the files without forcing them to the disk. */
  async closeFiles(): Promise<void> {
    await this.log!.close()
    await this.index!.close()
  }
}
