import { isWeirError } from '../../../core/errors.ts'
import type { OpenFile } from '../../../files/file-system.ts'
import { checkStoredBatch } from '../../../wire/batch/position-checksum.ts'
import {
  BATCH_HEADER_SIZE,
  BATCH_PREFIX_SIZE,
  baseOffsetOf,
  batchSizeAt,
  lastOffsetOf,
} from '../../../wire/batch/record-batch-format.ts'

const SCAN_BUFFER_BYTES = 1024 * 1024

/** Called for every batch: the buffer, the batch's position and size in it, its position in the file. */
export type BatchVisitor = (bytes: Uint8Array, at: number, size: number, position: number) => void

/** Start of a scan. */
export interface ScanStart {
  /** Position in the file. */
  readonly position: number
  /** Offset of the first record there. */
  readonly firstOffset: number
  /** Whether offsets follow each other without a gap, as in a segment that was never compacted. */
  readonly contiguous: boolean
  /** Mark of the partition (`partitionMark`). */
  readonly mark: number
}

/**
 * Visits the intact batches of a segment. Returns the position of the first batch that is incomplete,
 * broken or out of order: the file's length when all are intact.
 */
export function scanSegment(
  file: OpenFile,
  { position, firstOffset, contiguous, mark }: ScanStart,
  visit: BatchVisitor,
): number {
  const fileSize = file.sizeSync()
  let buffer = new Uint8Array(Math.max(0, Math.min(SCAN_BUFFER_BYTES, fileSize - position)))
  let at = position
  let expected = firstOffset
  while (at < fileSize) {
    const filled = file.readSync(buffer, at, Math.min(buffer.length, fileSize - at))
    let used = 0
    for (;;) {
      const size = intactSize(buffer, used, { filled, expected, contiguous, mark })
      if (size < 0) return at + used
      if (used + size > filled) {
        if (used === 0 && size > buffer.length && at + size <= fileSize) {
          buffer = new Uint8Array(size)
        } else if (used === 0) {
          return at
        }
        break
      }
      expected = lastOffsetOf(buffer, used) + 1
      visit(buffer, used, size, at + used)
      used += size
    }
    at += used
  }
  return at
}

/** What a batch must be. */
interface Expected {
  readonly filled: number
  readonly expected: number
  readonly contiguous: boolean
  readonly mark: number
}

/** Size of the batch at `at`, -1 when it is broken. A batch may reach beyond `filled`. */
function intactSize(
  buffer: Uint8Array,
  at: number,
  { filled, expected, contiguous, mark }: Expected,
): number {
  if (filled - at < BATCH_PREFIX_SIZE) return BATCH_HEADER_SIZE
  try {
    const size = batchSizeAt(buffer, at, filled)
    if (at + size > filled) return size
    checkStoredBatch(buffer, at, { end: filled, mark })
    const base = baseOffsetOf(buffer, at)
    return base === expected || (base > expected && !contiguous) ? size : -1
  } catch (error) {
    if (isWeirError(error)) return -1
    throw error
  }
}
