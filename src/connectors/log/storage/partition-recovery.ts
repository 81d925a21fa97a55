import { dirname, join } from 'node:path'
import type { FileSystem, OpenFile } from '../../../files/file-system.ts'
import {
  BATCH_HEADER_SIZE,
  baseOffsetOf,
  lastOffsetOf,
  maxTimestampOf,
} from '../../../wire/batch/record-batch-format.ts'
import { abortedPath, readAborted, rewriteAborted } from './aborted-index.ts'
import { damagedLog } from './damage.ts'
import { findIntactBatch, saveTail } from './damaged-tail.ts'
import { markOfFolder, otherPartition } from './partition-identity.ts'
import { findStatus, type PartitionStatus, rewriteStatus } from './partition-status.ts'
import {
  encodeIndexEntry,
  encodeIndexHeader,
  INDEX_ENTRY_SIZE,
  INDEX_HEADER_SIZE,
  INDEX_INTERVAL_BYTES,
  type IndexEntry,
  indexPath,
  listSegments,
  logFileName,
  readIndex,
} from './segment-files.ts'
import { scanSegment } from './segment-scan.ts'

/** A segment as its writer tracks it. */
export interface SegmentInfo {
  readonly base: number
  size: number
  /** Latest timestamp of the segment, -1 when no record has one. */
  maxTimestamp: number
  /** Latest timestamp of the first batch of the active segment; -1 when that has none, and for closed segments. */
  firstTimestamp: number
}

/** State of a partition after recovery. */
export interface RecoveredPartition {
  readonly segments: SegmentInfo[]
  readonly endOffset: number
  readonly sinceIndexEntry: number
  /** Entries in the active segment's index. */
  readonly indexEntries: number
  readonly abortedCount: number
  readonly generation: number
}

/**
 * Repairs a partition's folder after any crash: cuts the active segment after its last intact batch,
 * and its index to match. Closed segments are forced before the next one begins, and are not checked.
 * The active segment is checked from the last index entry on that is known to be forced.
 *
 * Only what was not forced is cut off; if intact batches follow the damage, it is kept in a file and
 * reported to `warn`. Throws MALFORMED_DATA when more is missing than a crash can take.
 */
export function recoverPartition(
  files: FileSystem,
  path: string,
  warn: (message: string) => void = () => {},
): RecoveredPartition {
  const status = findStatus(files, path)
  removeTemporary(files, path)
  const bases = keptSegments(files, path, status)
  if (status !== undefined) requireSegments(path, bases, status)
  const segments = bases.map((base) => closedSegment(files, path, base))
  const active = segments.at(-1)
  const generation = status?.generation ?? 0
  const tail =
    active === undefined
      ? { endOffset: 0, sinceIndexEntry: 0, indexEntries: 0 }
      : recoverActive({ files, path, active, status, warn })
  const abortedCount = recoverAborted(files, path, { endOffset: tail.endOffset, status })
  return { segments, ...tail, abortedCount, generation }
}

/** Throws MALFORMED_DATA when the first segment or the active one is missing. */
function requireSegments(path: string, bases: readonly number[], status: PartitionStatus): void {
  const { logStart, activeBase } = status
  const missing = [logStart, activeBase].find((base) => !bases.includes(base))
  if (missing === undefined) return
  const file = join(path, logFileName(missing))
  throw damagedLog({ file, position: 0, offset: missing }, 'the file is missing')
}

/**
 * Number of aborted ranges. A range whose marker was lost is removed: its end would reach over later
 * records of the producer, and the abort is repeated with a new marker. Throws MALFORMED_DATA when
 * there are fewer than the status says: their records would become visible.
 */
function recoverAborted(
  files: FileSystem,
  path: string,
  {
    endOffset,
    status,
  }: { readonly endOffset: number; readonly status: PartitionStatus | undefined },
): number {
  const ranges = readAborted(files, path)
  if (status !== undefined && ranges.length < status.abortedCount) {
    const place = { file: abortedPath(path), position: 0, offset: status.logStart }
    const why = `it holds ${ranges.length} of ${status.abortedCount} aborted transactions`
    throw damagedLog(place, why)
  }
  const kept = ranges.filter(({ lastOffset }) => lastOffset < endOffset)
  if (kept.length === ranges.length) return kept.length
  if (status !== undefined) {
    // First, so that the status never counts more ranges than there are.
    rewriteStatus(files, path, { ...status, abortedCount: kept.length })
  }
  rewriteAborted(files, path, kept)
  return kept.length
}

/**
 * The segments of a partition. Those that retention removed may be there: the process that removed them
 * died before, or a power cut brought them back.
 */
function keptSegments(
  files: FileSystem,
  path: string,
  status: PartitionStatus | undefined,
): number[] {
  const logStart = status?.logStart ?? 0
  const bases = listSegments(files, path)
  const kept = bases.filter((base, i) => base >= logStart || (bases[i + 1] ?? Infinity) > logStart)
  const removed = bases.filter((base) => !kept.includes(base))
  // The process that wrote the log start may have died before it forced it. A power cut may then keep
  // the removal and lose the log start.
  if (removed.length > 0 && status !== undefined) rewriteStatus(files, path, status)
  for (const base of removed) {
    files.removeSync(indexPath(path, base))
    files.removeSync(join(path, logFileName(base)))
  }
  return kept
}

function removeTemporary(files: FileSystem, path: string): void {
  for (const { name } of files.listSync(path)) {
    if (name.endsWith('.tmp')) files.removeSync(join(path, name))
  }
}

function closedSegment(files: FileSystem, path: string, base: number): SegmentInfo {
  const size = files.statSync(join(path, logFileName(base)))!.size
  return { base, size, maxTimestamp: -1, firstTimestamp: -1 }
}

interface RecoveredTail {
  readonly endOffset: number
  readonly sinceIndexEntry: number
  readonly indexEntries: number
}

/** The active segment of a partition's folder. */
interface ActiveSegment {
  readonly warn: (message: string) => void
  readonly files: FileSystem
  readonly path: string
  readonly active: SegmentInfo
  readonly status: PartitionStatus | undefined
}

function recoverActive({ files, path, active, status, warn }: ActiveSegment): RecoveredTail {
  const file = files.openSync(join(path, logFileName(active.base)), 'change')
  try {
    const isNamed = status?.activeBase === active.base
    const mark = markOfFolder(files, path)
    const forced = isNamed ? status.forcedSize : 0
    // Compaction does not change the active segment, so its offsets have no gaps.
    const contiguous = status === undefined || isNamed
    const stored = (readIndex(files, path, active.base) ?? []).filter(
      ({ position }) => position <= forced,
    )
    const entries = usableEntries(file, stored)
    const last = entries.at(-1)
    let endOffset = last?.offset ?? active.base
    let indexed = last?.position ?? 0
    active.maxTimestamp = last?.maxTimestampBefore ?? -1
    const end = scanSegment(
      file,
      { position: indexed, firstOffset: endOffset, contiguous, mark },
      (bytes, at, _size, position) => {
        if (position - indexed >= INDEX_INTERVAL_BYTES) {
          const offset = baseOffsetOf(bytes, at)
          entries.push({ offset, maxTimestampBefore: active.maxTimestamp, position })
          indexed = position
        }
        endOffset = lastOffsetOf(bytes, at) + 1
        active.maxTimestamp = Math.max(active.maxTimestamp, maxTimestampOf(bytes, at))
      },
    )
    if (end < active.size) requireOwnBatch(files, path, { file, position: end, offset: endOffset })
    if (end < forced) {
      const place = { file: file.path, position: end, offset: endOffset }
      throw damagedLog(place, `${forced} bytes of the file were forced to the disk`)
    }
    if (end < active.size) cutTail({ files, file, end, endOffset, mark, warn })
    active.size = end
    active.firstTimestamp = firstTimestampOf(file, end)
    rewriteIndex(files, indexPath(path, active.base), entries)
    return { endOffset, sinceIndexEntry: end - indexed, indexEntries: entries.length }
  } finally {
    file.closeSync()
  }
}

/** Throws MALFORMED_DATA for a batch that another partition wrote: no crash puts it there, so it is not cut off. */
function requireOwnBatch(
  files: FileSystem,
  path: string,
  { file, position, offset }: { file: OpenFile; position: number; offset: number },
): void {
  const why = otherPartition(files, path, { file, position })
  if (why !== undefined) throw damagedLog({ file: file.path, position, offset }, why)
}

/** Latest timestamp of the first batch of a segment of `size` bytes; -1 without one. */
function firstTimestampOf(file: OpenFile, size: number): number {
  if (size < BATCH_HEADER_SIZE) return -1
  const header = new Uint8Array(BATCH_HEADER_SIZE)
  file.readSync(header, 0)
  return maxTimestampOf(header, 0)
}

/** The end of a file that is to be cut off. */
interface Tail {
  readonly files: FileSystem
  readonly file: OpenFile
  /** End of the last intact batch, and the offset after it. */
  readonly end: number
  readonly endOffset: number
  readonly mark: number
  readonly warn: (message: string) => void
}

function cutTail({ files, file, end, endOffset, mark, warn }: Tail): void {
  if (findIntactBatch(file, { from: end, firstOffset: endOffset, mark }) >= 0) {
    const saved = saveTail(files, file, end)
    files.syncFolderSync(dirname(file.path))
    warn(
      `${file.path} is damaged at byte ${end}, offset ${endOffset}, and intact batches follow, which were not forced to the disk; they are kept in ${saved}`,
    )
  }
  file.truncateSync(end)
  // So that what is cut off does not come back behind later records after a power cut.
  file.datasyncSync()
}

/** Index entries up to the last one that points at its batch in the file. */
function usableEntries(file: OpenFile, entries: IndexEntry[]): IndexEntry[] {
  const header = new Uint8Array(8)
  for (;;) {
    const last = entries.at(-1)
    if (last === undefined) return entries
    const read = file.readSync(header, last.position)
    if (read === 8 && baseOffsetOf(header, 0) === last.offset) return entries
    entries.pop()
  }
}

/** Replaces a segment's index. */
export function rewriteIndex(
  files: FileSystem,
  path: string,
  entries: readonly IndexEntry[],
): void {
  const bytes = new Uint8Array(INDEX_HEADER_SIZE + entries.length * INDEX_ENTRY_SIZE)
  bytes.set(encodeIndexHeader())
  entries.forEach((entry, i) => {
    bytes.set(encodeIndexEntry(entry), INDEX_HEADER_SIZE + i * INDEX_ENTRY_SIZE)
  })
  // Not forced: after a power cut a missing or broken index is built again from the log.
  const file = files.openSync(`${path}.tmp`, 'replace')
  file.writeSync([bytes], 0)
  file.closeSync()
  files.renameSync(file.path, path)
}
