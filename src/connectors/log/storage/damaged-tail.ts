import { checkStoredBatch } from '../../../batch/position-checksum.ts'
import {
  BATCH_FIELDS,
  BATCH_HEADER_SIZE,
  BATCH_PREFIX_SIZE,
  baseOffsetOf,
  MAGIC,
  readInt32,
} from '../../../batch/record-batch-format.ts'
import { isWeirError } from '../../../core/errors.ts'
import type { FileSystem, OpenFile } from '../../../files/file-system.ts'

const WINDOW_BYTES = 1024 * 1024
const COPY_BYTES = 1024 * 1024

/**
 * Position of the first intact batch after `from` with an offset of at least `firstOffset`; -1 when
 * there is none, so that what is behind `from` can only be a write that was not completed.
 */
export function findIntactBatch(file: OpenFile, from: number, firstOffset: number): number {
  const size = file.sizeSync()
  const window = new Uint8Array(WINDOW_BYTES)
  for (let start = from + 1; start + BATCH_HEADER_SIZE <= size; ) {
    const filled = file.readSync(window, start)
    const last = filled - BATCH_HEADER_SIZE
    for (let at = 0; at <= last; at++) {
      if (window[at + BATCH_FIELDS.magic] !== MAGIC) continue
      const length = readInt32(window, at + BATCH_FIELDS.batchLength)
      const fits = length >= BATCH_HEADER_SIZE - BATCH_PREFIX_SIZE && start + at + length < size
      if (!fits || baseOffsetOf(window, at) < firstOffset) continue
      if (isIntact(file, start + at, length + BATCH_PREFIX_SIZE)) return start + at
    }
    if (last < 0) break
    start += last + 1
  }
  return -1
}

function isIntact(file: OpenFile, position: number, size: number): boolean {
  const batch = new Uint8Array(size)
  if (file.readSync(batch, position) < size) return false
  try {
    checkStoredBatch(batch, 0, size)
    return true
  } catch (error) {
    if (isWeirError(error)) return false
    throw error
  }
}

/**
 * Copies what is in a file from `position` on to `<file>.<position>[-n].damaged`, durably. Returns that
 * path. The caller forces the folder.
 */
export function saveTail(files: FileSystem, file: OpenFile, position: number): string {
  let path = `${file.path}.${position}.damaged`
  for (let n = 2; files.statSync(path) !== undefined; n++) {
    path = `${file.path}.${position}-${n}.damaged`
  }
  const copy = files.openSync(path, 'new')
  try {
    const buffer = new Uint8Array(COPY_BYTES)
    for (let at = position; ; ) {
      const read = file.readSync(buffer, at)
      if (read === 0) break
      copy.writeSync([buffer.subarray(0, read)], at - position)
      at += read
    }
    copy.datasyncSync()
  } finally {
    copy.closeSync()
  }
  return path
}

/**
 * Position of the first intact batch at or after `from` in the bytes of a segment, with an offset of at
 * least `firstOffset`; -1 when there is none.
 */
export function nextIntactBatch(bytes: Uint8Array, from: number, firstOffset: number): number {
  for (let at = from; at + BATCH_HEADER_SIZE <= bytes.length; at++) {
    if (bytes[at + BATCH_FIELDS.magic] !== MAGIC || baseOffsetOf(bytes, at) < firstOffset) continue
    try {
      checkStoredBatch(bytes, at, bytes.length)
      return at
    } catch (error) {
      if (!isWeirError(error)) throw error
    }
  }
  return -1
}
