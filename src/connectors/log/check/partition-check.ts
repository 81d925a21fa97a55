import { join } from 'node:path'
import { isWeirError, messageOf } from '../../../core/errors.ts'
import type { FileSystem } from '../../../files/file-system.ts'
import { lastOffsetOf } from '../../../wire/batch/record-batch-format.ts'
import { abortedPath, readAborted } from '../storage/aborted-index.ts'
import { compactedPath, readCompacted } from '../storage/compacted-offset.ts'
import {
  identityPath,
  markOfFolder,
  otherPartition,
  requireOwnPlace,
} from '../storage/partition-identity.ts'
import {
  findStatus,
  type PartitionStatus,
  readStatus,
  statusPath,
} from '../storage/partition-status.ts'
import { listSegments, logFileName } from '../storage/segment-files.ts'
import { scanSegment } from '../storage/segment-scan.ts'

/** Result of the check of one file. */
export interface FileCheck {
  readonly file: string
  /** Undefined: the file is whole. */
  readonly damage?: {
    readonly position: number
    readonly offset: number
    readonly reason: string
  }
  /** Why this build cannot read it, if a later one wrote it: nothing in it is damaged. */
  readonly newer?: string
  /** Base of the segment, if the file is one. */
  readonly base?: number
}

/**
 * Checks the files of one partition, without the writer's lock. Bytes behind the end that the status
 * names are no damage: a write may be under way, or a crash may have ended it. A file is checked when its
 * result is taken.
 */
export function* checkPartition(
  files: FileSystem,
  path: string,
  isCompacted: boolean,
): Generator<FileCheck> {
  const status = statusIfReadable(files, path)
  const bases = listSegments(files, path)
  const wanted = status === undefined ? [] : [status.logStart, status.activeBase]
  const missing = [...new Set(wanted)].filter((base) => !bases.includes(base))
  yield checkIdentity(files, path)
  yield checkStatus(files, path)
  const compacted = checkByReading(compactedPath(path), () => readCompacted(files, path))
  if (compacted.newer !== undefined) yield compacted
  for (const base of missing) yield missingSegment(path, base)
  for (const [i, base] of bases.entries()) {
    yield checkSegment(files, path, { base, next: bases[i + 1], status, isCompacted })
  }
  yield checkAborted(files, path, status)
}

/** The status for the checks of other files; that it cannot be read is a check of its own. */
function statusIfReadable(files: FileSystem, path: string): PartitionStatus | undefined {
  try {
    return findStatus(files, path)
  } catch {
    return undefined
  }
}

function checkStatus(files: FileSystem, path: string): FileCheck {
  return checkByReading(statusPath(path), () => readStatus(path, files))
}

function checkIdentity(files: FileSystem, path: string): FileCheck {
  return checkByReading(identityPath(path), () => requireOwnPlace(files, path))
}

/** The check of a small file, which `read` reads and decodes. */
function checkByReading(file: string, read: () => void): FileCheck {
  try {
    read()
    return { file }
  } catch (error) {
    return { file, ...failedCheck(error) }
  }
}

/** What an error of a file's reader says of the file. */
export function failedCheck(error: unknown): Pick<FileCheck, 'damage' | 'newer'> {
  const reason = messageOf(error)
  if (isWeirError(error, 'UNSUPPORTED_VERSION')) return { newer: reason }
  return { damage: { position: 0, offset: 0, reason } }
}

function missingSegment(path: string, base: number): FileCheck {
  const file = join(path, logFileName(base))
  return { file, base, damage: { position: 0, offset: base, reason: 'the file is missing' } }
}

/** A segment and where it must end. */
interface SegmentBounds {
  readonly base: number
  /** Base of the next segment; undefined for the last one. */
  readonly next: number | undefined
  readonly status: PartitionStatus | undefined
  readonly isCompacted: boolean
}

function checkSegment(
  files: FileSystem,
  path: string,
  { base, next, status, isCompacted }: SegmentBounds,
): FileCheck {
  const open = files.openSync(join(path, logFileName(base)), 'read')
  try {
    let offset = base
    const contiguous = !isCompacted || next === undefined
    const position = scanSegment(
      open,
      { position: 0, firstOffset: base, contiguous, mark: markOfFolder(files, path) },
      (bytes, at) => {
        offset = lastOffsetOf(bytes, at) + 1
      },
    )
    const isActive = base === status?.activeBase
    const size = isActive ? status.activeSize : next === undefined ? position : open.sizeSync()
    const mayEndEarly = isCompacted && !hasEnds(files, path)
    const endsEarly = next !== undefined && offset !== next && !(mayEndEarly && offset < next)
    const file = open.path
    if (position < size) {
      const reason =
        otherPartition(files, path, { file: open, position }) ??
        `no intact batch is here; ${size - position} bytes follow`
      return { file, base, damage: { position, offset, reason } }
    }
    if (!endsEarly) return { file, base }
    const reason = `the next segment begins at offset ${next}`
    return { file, base, damage: { position, offset, reason } }
  } finally {
    open.closeSync()
  }
}

/** Whether compacted segments must have an end; what a later build wrote is not held to it. */
function hasEnds(files: FileSystem, path: string): boolean {
  try {
    return readCompacted(files, path).hasEnds
  } catch {
    return false
  }
}

function checkAborted(
  files: FileSystem,
  path: string,
  status: PartitionStatus | undefined,
): FileCheck {
  const file = abortedPath(path)
  let length = 0
  const read = checkByReading(file, () => {
    length = readAborted(files, path).length
  })
  if (read.newer !== undefined) return read
  const wanted = status?.abortedCount ?? 0
  if (length >= wanted) return { file }
  const reason = `it holds ${length} of ${wanted} aborted transactions`
  return { file, damage: { position: 0, offset: 0, reason } }
}
