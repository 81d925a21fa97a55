import { isWeirError } from '../../../core/errors.ts'
import type { FileSystem, OpenFile } from '../../../files/file-system.ts'
import { checkStoredBatch, markOf } from '../../../wire/batch/position-checksum.ts'
import {
  BATCH_FIELDS,
  BATCH_HEADER_SIZE,
  BATCH_PREFIX_SIZE,
  baseOffsetOf,
  MAGIC,
  readInt32,
} from '../../../wire/batch/record-batch-format.ts'

const WINDOW_BYTES = 1024 * 1024
const COPY_BYTES = 1024 * 1024

/** Where to look for an intact batch: behind `from`, with an offset of at least `firstOffset`. */
export interface TailStart {
  readonly from: number
  readonly firstOffset: number
  /** Mark of the partition. */
  readonly mark: number
}

/**
 * Position of the first intact batch behind `from`; -1 when there is none, so that what is behind `from` can only be a
 * write that was not completed.
 */
export function findIntactBatch(file: OpenFile, { from, firstOffset, mark }: TailStart): number {
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
      if (isIntact(file, start + at, { size: length + BATCH_PREFIX_SIZE, mark })) return start + at
    }
    if (last < 0) break
    start += last + 1
  }
  return -1
}

function isIntact(
  file: OpenFile,
  position: number,
  { size, mark }: { readonly size: number; readonly mark: number },
): boolean {
  const batch = new Uint8Array(size)
  if (file.readSync(batch, position) < size) return false
  try {
    checkStoredBatch(batch, 0, { end: size, mark })
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

/** The mark of the partition whose intact batch is at a position of a file; undefined where no intact batch is. */
export function markAt(file: OpenFile, position: number): number | undefined {
  const header = new Uint8Array(BATCH_HEADER_SIZE)
  if (file.readSync(header, position) < BATCH_HEADER_SIZE) return undefined
  const size = readInt32(header, BATCH_FIELDS.batchLength) + BATCH_PREFIX_SIZE
  const mark = markOf(header, 0)
  const fits = size >= BATCH_HEADER_SIZE && position + size <= file.sizeSync()
  return fits && isIntact(file, position, { size, mark }) ? mark : undefined
}

/**
 * Whether a file begins with batches of a mark: its first one has it, and so has the second, if that is intact: one
 * flipped bit gives a batch a mark that no other one has.
 */
export function beginsWithMark(file: OpenFile, mark: number): boolean {
  if (markAt(file, 0) !== mark) return false
  const header = new Uint8Array(BATCH_PREFIX_SIZE)
  file.readSync(header, 0)
  const second = markAt(file, readInt32(header, BATCH_FIELDS.batchLength) + BATCH_PREFIX_SIZE)
  return second === undefined || second === mark
}

/** Position of the first intact batch at or after `from` in the bytes of a segment; -1 when there is none. */
export function nextIntactBatch(bytes: Uint8Array, { from, firstOffset, mark }: TailStart): number {
  for (let at = from; at + BATCH_HEADER_SIZE <= bytes.length; at++) {
    if (bytes[at + BATCH_FIELDS.magic] !== MAGIC || baseOffsetOf(bytes, at) < firstOffset) continue
    try {
      checkStoredBatch(bytes, at, { end: bytes.length, mark })
      return at
    } catch (error) {
      if (!isWeirError(error)) throw error
    }
  }
  return -1
}
