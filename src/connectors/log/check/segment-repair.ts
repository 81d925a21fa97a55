import { dirname, join } from 'node:path'
import { readFileSync } from '../../../files/durable-files.ts'
import type { FileSystem, OpenFile } from '../../../files/file-system.ts'
import { placeBatch } from '../../../wire/batch/position-checksum.ts'
import { baseOffsetOf, batchSizeAt, lastOffsetOf } from '../../../wire/batch/record-batch-format.ts'
import { RecordBatchWriter } from '../../../wire/batch/record-batch-writer.ts'
import { nextIntactBatch } from '../storage/damaged-tail.ts'
import {
  identityPath,
  markOfFolder,
  otherPartition,
  readIdentity,
  rewriteIdentity,
} from '../storage/partition-identity.ts'
import { findStatus, rewriteStatus, statusPath } from '../storage/partition-status.ts'
import { indexPath, listSegments, logFileName } from '../storage/segment-files.ts'
import { copyAside, damagedName, type FileRepair, type LostOffsets } from './file-repair.ts'

/**
 * Plans the repair of a segment: intact batches stay, and an empty batch takes the place of each range of
 * lost offsets, so that no offset is given again. `apply` carries it out: the damaged file gets another
 * name and is never removed. The caller holds the log's lock.
 */
export function repairSegment(
  files: FileSystem,
  path: string,
  { base, apply }: { readonly base: number; readonly apply: boolean },
): FileRepair {
  const file = join(path, logFileName(base))
  const exists = files.statSync(file) !== undefined
  const status = findStatus(files, path)
  const next = listSegments(files, path).find((other) => other > base)
  const end = next ?? (status?.activeBase === base ? status.endOffset : base)
  const saved = exists ? damagedName(files, file) : undefined
  const bytes = exists ? readFileSync(files, file) : new Uint8Array(0)
  const advice = exists ? swappedAdvice(files, path, file) : undefined
  if (advice !== undefined) return { file, saved: undefined, lost: [], advice }
  const mark = markOfFolder(files, path)
  const { parts, lost, endOffset } = keepIntact(bytes, { base, end, mark })
  if (apply) {
    const written = files.openSync(`${file}.tmp`, 'replace')
    const activeSize = writeAll(written, parts)
    if (saved !== undefined) files.renameSync(file, saved)
    files.renameSync(`${file}.tmp`, file)
    files.removeSync(indexPath(path, base))
    if (status !== undefined && next === undefined) {
      const bounds = { activeBase: base, activeSize, forcedSize: activeSize }
      const generation = status.generation + 1
      rewriteStatus(files, path, { ...status, ...bounds, endOffset, generation })
    }
    files.syncFolderSync(dirname(file))
  }
  return { file, saved, lost }
}

/** What to do about a file whose records another partition wrote: nothing in it is damaged, so nothing is given up. */
function swappedAdvice(files: FileSystem, path: string, name: string): string | undefined {
  const file = files.openSync(name, 'read')
  try {
    return otherPartition(files, path, { file, position: 0 })
  } finally {
    file.closeSync()
  }
}

/** Moves a status that cannot be read away. The next open builds it again. */
export function repairStatus(files: FileSystem, path: string, apply: boolean): FileRepair {
  const file = statusPath(path)
  const saved = files.statSync(file) === undefined ? undefined : damagedName(files, file)
  if (apply && saved !== undefined) {
    files.renameSync(file, saved)
    files.syncFolderSync(path)
  }
  return { file, saved, lost: [] }
}

/** Writes the file that says which partition a folder is again. The folder of another partition needs a move: advice. */
export function repairIdentity(files: FileSystem, path: string, apply: boolean): FileRepair {
  const file = identityPath(path)
  if (isReadable(files, path)) {
    const advice =
      'move the folder back to its place, or restore it from a copy; nothing in it is damaged'
    return { file, saved: undefined, lost: [], advice }
  }
  const saved = damagedName(files, file)
  if (apply) {
    copyAside(files, file, saved)
    rewriteIdentity(files, path)
  }
  return { file, saved, lost: [] }
}

function isReadable(files: FileSystem, path: string): boolean {
  try {
    readIdentity(files, path)
    return true
  } catch {
    return false
  }
}

/** The intact batches of a segment, with empty batches in the gaps between them up to `end`. */
function keepIntact(
  bytes: Uint8Array,
  { base, end, mark }: { readonly base: number; readonly end: number; readonly mark: number },
): { parts: Uint8Array[]; lost: LostOffsets[]; endOffset: number } {
  const parts: Uint8Array[] = []
  const lost: LostOffsets[] = []
  let expected = base
  const fillTo = (offset: number): void => {
    if (offset <= expected) return
    lost.push([expected, offset])
    parts.push(emptyBatch(expected, offset, mark))
    expected = offset
  }
  for (let at = nextIntactBatch(bytes, { from: 0, firstOffset: expected, mark }); at >= 0; ) {
    const size = batchSizeAt(bytes, at, bytes.length)
    const batch = bytes.subarray(at, at + size)
    fillTo(baseOffsetOf(batch, 0))
    parts.push(batch)
    expected = lastOffsetOf(batch, 0) + 1
    at = nextIntactBatch(bytes, { from: at + size, firstOffset: expected, mark })
  }
  fillTo(end)
  return { parts, lost, endOffset: expected }
}

function emptyBatch(from: number, to: number, mark: number): Uint8Array {
  const writer = new RecordBatchWriter(128)
  writer.reset(from)
  writer.extendTo(to - 1 - from)
  const batch = writer.finish().slice()
  placeBatch(batch, 0, { baseOffset: from, mark })
  return batch
}

function writeAll(file: OpenFile, parts: readonly Uint8Array[]): number {
  let position = 0
  try {
    for (const part of parts) {
      file.writeSync([part], position)
      position += part.length
    }
    file.datasyncSync()
  } finally {
    file.closeSync()
  }
  return position
}
