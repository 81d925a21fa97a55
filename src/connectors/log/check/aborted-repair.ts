import { join } from 'node:path'
import { RecordBatchReader } from '../../../batch/record-batch-reader.ts'
import { messageOf } from '../../../core/errors.ts'
import type { FileSystem } from '../../../files/file-system.ts'
import {
  type AbortedRange,
  abortedPath,
  readAborted,
  rewriteAborted,
} from '../storage/aborted-index.ts'
import { markOfFolder } from '../storage/partition-identity.ts'
import { findStatus, rewriteStatus } from '../storage/partition-status.ts'
import { listSegments, logFileName } from '../storage/segment-files.ts'
import { scanSegment } from '../storage/segment-scan.ts'
import { copyAside, damagedName, type FileRepair } from './file-repair.ts'

/** Type of a control record that ends a transaction as aborted. */
const ABORT = 0

/**
 * Plans the repair of the file `aborted` of a partition: the ranges are in the segments, between the
 * first record of a transaction and its abort marker. If a segment is damaged or was repaired within a
 * transaction, a marker may be lost; then the result has advice instead. `apply` carries it out. The caller
 * holds the log's lock.
 */
export function repairAborted(files: FileSystem, path: string, apply: boolean): FileRepair {
  const file = abortedPath(path)
  const status = findStatus(files, path)
  let ranges: AbortedRange[]
  try {
    ranges = rebuildAborted(files, path)
  } catch (error) {
    const advice = `restore it from a copy; without it records of aborted transactions would be read. It cannot be built again: ${messageOf(error)}`
    return { file, saved: undefined, lost: [], advice }
  }
  const saved = files.statSync(file) === undefined ? undefined : damagedName(files, file)
  if (apply) {
    if (saved !== undefined) copyAside(files, file, saved)
    rewriteAborted(files, path, ranges)
    if (status !== undefined) {
      const generation = status.generation + 1
      rewriteStatus(files, path, { ...status, abortedCount: ranges.length, generation })
    }
    files.syncFolderSync(path)
  }
  return { file, saved, lost: [] }
}

/** The readable ranges of the file, and those of the segments that it lacks. Throws an Error that says why not. */
function rebuildAborted(files: FileSystem, path: string): AbortedRange[] {
  const ranges = readAborted(files, path)
  const known = new Set(ranges.map(({ producerId, lastOffset }) => `${producerId} ${lastOffset}`))
  const transactions = new Transactions()
  const status = findStatus(files, path)
  const mark = markOfFolder(files, path)
  for (const base of listSegments(files, path)) {
    const file = files.openSync(join(path, logFileName(base)), 'read')
    try {
      const start = { position: 0, firstOffset: base, contiguous: false, mark }
      const end = scanSegment(file, start, (bytes, at) => transactions.add(bytes, at))
      const size = base === status?.activeBase ? status.activeSize : file.sizeSync()
      if (end < size) throw new Error(`${file.path} is damaged at byte ${end}`)
    } finally {
      file.closeSync()
    }
  }
  const found = transactions.aborted.filter(
    ({ producerId, lastOffset }) => !known.has(`${producerId} ${lastOffset}`),
  )
  return [...ranges, ...found].sort((a, b) => a.lastOffset - b.lastOffset)
}

/** Transactions of a partition, read from its batches in order. */
class Transactions {
  readonly aborted: AbortedRange[] = []
  /** Open transactions: first offset by producer. */
  private readonly open = new Map<number, number>()
  private readonly batch = new RecordBatchReader()

  /** Throws an Error when a repair has put an empty batch into an open transaction. */
  add(bytes: Uint8Array, at: number): void {
    const { batch, open } = this
    batch.open(bytes, at, false)
    const { producerId, baseOffset } = batch
    if (batch.isControl) {
      const firstOffset = open.get(producerId)
      if (firstOffset !== undefined && this.isAbort()) {
        this.aborted.push({ producerId, firstOffset, lastOffset: baseOffset })
      }
      open.delete(producerId)
    } else if (batch.isTransactional) {
      if (!open.has(producerId)) open.set(producerId, baseOffset)
    } else if (batch.count === 0 && open.size > 0) {
      throw new Error(`offset ${baseOffset} was lost, and it may have ended a transaction`)
    }
  }

  private isAbort(): boolean {
    const key = this.batch.next() ? this.batch.key() : null
    return key !== null && Buffer.from(key).readInt16BE(2) === ABORT
  }
}
