import { crc32 } from 'node:zlib'
import { WeirError } from '../../../core/errors.ts'
import type { SegmentReference } from '../protocol/checkpoint-types.ts'
import type { CheckpointStorage } from '../storage/checkpoint-storage.ts'
import { SEGMENT_HEADER_BYTES } from './format.ts'
import { openSegment } from './reader.ts'

/** Bytes of the checksum at the end, which it does not cover. */
const CHECKSUM_BYTES = 4
/** Bytes of one read. */
const READ_BYTES = 1024 * 1024

/**
 * Reads every byte of a segment and compares it with its checksums; names the first damaged offset.
 * Throws CHECKSUM_MISMATCH, MALFORMED_DATA, CHECKPOINT_NOT_FOUND, UNSUPPORTED_VERSION, STORAGE_FAILED.
 */
export async function verifySegment(
  storage: CheckpointStorage,
  reference: SegmentReference,
): Promise<void> {
  const { footer } = await openSegment(storage, reference)
  let position = SEGMENT_HEADER_BYTES
  for (const { slices } of footer.blocks) {
    for (const slice of slices) {
      const bytes = await storage.read(reference.path, position, slice.bytes)
      if (bytes.length < slice.bytes || crc32(bytes) !== slice.crc) {
        throw damaged(reference.path, position)
      }
      position += slice.bytes
    }
  }
  if ((await checksumOf(storage, reference)) !== reference.checksum)
    throw damaged(reference.path, 0)
}

async function checksumOf(
  storage: CheckpointStorage,
  { path, bytes }: SegmentReference,
): Promise<number> {
  const end = bytes - CHECKSUM_BYTES
  let crc = 0
  for (let at = 0; at < end; at += READ_BYTES) {
    crc = crc32(await storage.read(path, at, Math.min(READ_BYTES, end - at)), crc)
  }
  return crc
}

function damaged(path: string, offset: number): WeirError {
  return new WeirError(
    'CHECKSUM_MISMATCH',
    `${path} is damaged: the bytes from ${offset} on differ from their checksum`,
    { details: { path, offset } },
  )
}
