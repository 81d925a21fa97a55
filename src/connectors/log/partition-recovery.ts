import * as fs from 'node:fs'
import { join } from 'node:path'
import { baseOffsetOf, lastOffsetOf, maxTimestampOf } from '../../batch/record-batch-format.ts'
import { readAborted } from './aborted-index.ts'
import { findStatus, type PartitionStatus } from './partition-status.ts'
import {
  encodeIndexEntry,
  encodeIndexHeader,
  INDEX_ENTRY_SIZE,
  INDEX_HEADER_SIZE,
  INDEX_INTERVAL_BYTES,
  type IndexEntry,
  indexFileName,
  listSegments,
  logFileName,
  readIndex,
} from './segment-files.ts'
import { scanSegment } from './segment-scan.ts'

/** What the writer knows of a segment. */
export interface SegmentInfo {
  readonly base: number
  size: number
  /** Latest timestamp of the segment, -1 when no record has one. */
  maxTimestamp: number
}

/** A partition as recovery left it. */
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
 * Makes a partition's folder whole after any crash: cuts the active segment behind its last intact
 * batch and its index to match. A killed process loses no page that it wrote, so closed segments are
 * taken as they are and of the active one only the part from its last index entry on is checked.
 */
export function recoverPartition(path: string): RecoveredPartition {
  const status = findStatus(path)
  removeTemporary(path)
  const bases = listSegments(path)
  const segments = bases.map((base) => closedSegment(path, base))
  const active = segments.at(-1)
  const common = { abortedCount: readAborted(path).length, generation: status?.generation ?? 0 }
  if (active === undefined) {
    const endOffset = status?.endOffset ?? 0
    return { segments, endOffset, sinceIndexEntry: 0, indexEntries: 0, ...common }
  }
  const tail = recoverActive(path, active, status)
  return { segments, ...tail, ...common }
}

function removeTemporary(path: string): void {
  for (const name of fs.readdirSync(path)) {
    if (name.endsWith('.tmp')) fs.rmSync(join(path, name))
  }
}

function closedSegment(path: string, base: number): SegmentInfo {
  const size = fs.statSync(join(path, logFileName(base))).size
  return { base, size, maxTimestamp: -1 }
}

interface RecoveredTail {
  readonly endOffset: number
  readonly sinceIndexEntry: number
  readonly indexEntries: number
}

function recoverActive(
  path: string,
  active: SegmentInfo,
  status: PartitionStatus | undefined,
): RecoveredTail {
  const fd = fs.openSync(join(path, logFileName(active.base)), 'r+')
  try {
    // Compaction leaves the active segment alone.
    const contiguous = status === undefined || status.activeBase === active.base
    const entries = usableEntries(fd, path, active)
    const last = entries.at(-1)
    let endOffset = last?.offset ?? active.base
    let indexed = last?.position ?? 0
    active.maxTimestamp = last?.maxTimestampBefore ?? -1
    const end = scanSegment(fd, indexed, endOffset, contiguous, (bytes, at, _size, position) => {
      if (position - indexed >= INDEX_INTERVAL_BYTES) {
        const offset = baseOffsetOf(bytes, at)
        entries.push({ offset, maxTimestampBefore: active.maxTimestamp, position })
        indexed = position
      }
      endOffset = lastOffsetOf(bytes, at) + 1
      active.maxTimestamp = Math.max(active.maxTimestamp, maxTimestampOf(bytes, at))
    })
    if (end < active.size) fs.ftruncateSync(fd, end)
    active.size = end
    rewriteIndex(path, active.base, entries)
    return { endOffset, sinceIndexEntry: end - indexed, indexEntries: entries.length }
  } finally {
    fs.closeSync(fd)
  }
}

/** Index entries that point into the file and at the batch they name. */
function usableEntries(fd: number, path: string, active: SegmentInfo): IndexEntry[] {
  const entries = readIndex(path, active.base) ?? []
  const header = new Uint8Array(8)
  for (;;) {
    const last = entries.at(-1)
    if (last === undefined) return entries
    const read = fs.readSync(fd, header, 0, 8, last.position)
    if (read === 8 && baseOffsetOf(header, 0) === last.offset) return entries
    entries.pop()
  }
}

/** Replaces a segment's index. */
export function rewriteIndex(path: string, base: number, entries: readonly IndexEntry[]): void {
  const bytes = new Uint8Array(INDEX_HEADER_SIZE + entries.length * INDEX_ENTRY_SIZE)
  bytes.set(encodeIndexHeader())
  entries.forEach((entry, i) => {
    bytes.set(encodeIndexEntry(entry), INDEX_HEADER_SIZE + i * INDEX_ENTRY_SIZE)
  })
  const target = join(path, indexFileName(base))
  fs.writeFileSync(`${target}.tmp`, bytes)
  fs.renameSync(`${target}.tmp`, target)
}
