import * as fs from 'node:fs'
import { checkBatch } from '../../batch/batch-check.ts'
import {
  BATCH_HEADER_SIZE,
  BATCH_PREFIX_SIZE,
  baseOffsetOf,
  batchSizeAt,
  lastOffsetOf,
} from '../../batch/record-batch-format.ts'
import { isWeirError } from '../../core/errors.ts'

const SCAN_BUFFER_BYTES = 1024 * 1024

/** Called for every batch: the buffer, where the batch lies in it and where in the file. */
export type BatchVisitor = (bytes: Uint8Array, at: number, size: number, position: number) => void

/**
 * Walks whole, intact batches of a segment from `position` and returns where the first one that is
 * torn, broken or out of order begins (the file's length when all are good). The checksum does not
 * cover the base offset: in a segment that was never compacted it must follow without a gap
 * (`contiguous`).
 */
export function scanSegment(
  fd: number,
  position: number,
  firstOffset: number,
  contiguous: boolean,
  visit: BatchVisitor,
): number {
  const fileSize = fs.fstatSync(fd).size
  let buffer: Uint8Array = new Uint8Array(SCAN_BUFFER_BYTES)
  let at = position
  let expected = firstOffset
  while (at < fileSize) {
    const filled = fs.readSync(fd, buffer, 0, Math.min(buffer.length, fileSize - at), at)
    let used = 0
    for (;;) {
      const size = intactSize(buffer, used, filled, expected, contiguous)
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

/** Size of the batch at `at`, more than what is filled when cut off there, -1 when broken. */
function intactSize(
  buffer: Uint8Array,
  at: number,
  filled: number,
  expected: number,
  contiguous: boolean,
): number {
  if (filled - at < BATCH_PREFIX_SIZE) return BATCH_HEADER_SIZE
  try {
    const size = batchSizeAt(buffer, at, filled)
    if (at + size > filled) return size
    checkBatch(buffer, at, filled)
    const base = baseOffsetOf(buffer, at)
    return base === expected || (base > expected && !contiguous) ? size : -1
  } catch (error) {
    if (isWeirError(error)) return -1
    throw error
  }
}
