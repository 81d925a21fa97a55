import { crc32 } from 'node:zlib'
import { WeirError } from '../../../core/errors.ts'
import type { SegmentReference } from '../protocol/checkpoint-types.ts'
import type { CheckpointStorage } from '../storage/checkpoint-storage.ts'

const PIECE_BYTES = 4 * 1024 * 1024
/** The checksum at the end of a segment covers everything before it. */
const CHECKSUM_BYTES = 4

/** Where a copy goes. */
export interface CopyTarget {
  readonly storage: CheckpointStorage
  readonly path: string
}

/**
 * Copies a segment piece by piece, and verifies its checksum. Throws MALFORMED_DATA, CHECKSUM_MISMATCH,
 * STORAGE_FAILED.
 */
export async function copySegment(
  storage: CheckpointStorage,
  segment: SegmentReference,
  target: CopyTarget,
): Promise<void> {
  const writer = await target.storage.createWriter(target.path)
  try {
    const covered = segment.bytes - CHECKSUM_BYTES
    let checksum = 0
    for (let start = 0; start < segment.bytes; start += PIECE_BYTES) {
      const wanted = Math.min(PIECE_BYTES, segment.bytes - start)
      const piece = await storage.read(segment.path, start, wanted)
      if (piece.length < wanted) {
        throw new WeirError('MALFORMED_DATA', `${segment.path} is cut off`)
      }
      checksum = crc32(piece.subarray(0, Math.max(0, covered - start)), checksum)
      await writer.write(piece)
    }
    if (checksum !== segment.checksum) {
      throw new WeirError('CHECKSUM_MISMATCH', `${segment.path} differs from its checksum`)
    }
    await writer.commit()
  } catch (error) {
    await writer.abort()
    throw error
  }
}
