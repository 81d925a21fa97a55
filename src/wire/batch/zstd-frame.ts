import * as zlib from 'node:zlib'
import { type FrameFormat, unpackFrames } from './frames.ts'

/**
 * A Zstandard frame (RFC 8878): magic FD2FB528, a header of 2 to 14 bytes, then blocks, each after 3 bytes
 * (little-endian; bit 0: the last one, bits 1 and 2: type, then its size), and a checksum if the header says so.
 */
const RLE_BLOCK = 1
const CHECKSUM_FLAG = 0x04
const SINGLE_SEGMENT_FLAG = 0x20
const DICTIONARY_SIZES = [0, 1, 2, 4]
const CONTENT_SIZES = [0, 2, 4, 8]

/** Bytes of a frame before its first block; `flags`: the byte behind the magic number. */
export function zstdHeaderBytes(flags: number): number {
  const isSingle = (flags & SINGLE_SEGMENT_FLAG) !== 0
  const contentSize = CONTENT_SIZES[flags >>> 6]! || (isSingle ? 1 : 0)
  return 5 + (isSingle ? 0 : 1) + DICTIONARY_SIZES[flags & 3]! + contentSize
}

/** Bytes of a frame after its last block. */
export function zstdChecksumBytes(flags: number): number {
  return (flags & CHECKSUM_FLAG) === 0 ? 0 : 4
}

/** Bytes of the header of a block. */
export const BLOCK_HEADER_BYTES = 3

/** What the header of a block says: its bytes behind the header, and whether it is the last one. */
export function zstdBlock(header: number): { readonly bytes: number; readonly isLast: boolean } {
  const isRle = ((header >>> 1) & 3) === RLE_BLOCK
  return { bytes: isRle ? 1 : header >>> 3, isLast: (header & 1) === 1 }
}

const ZSTD: FrameFormat = {
  name: 'zstd',
  magic: 0xfd2fb528,
  endOf(view, start) {
    const flags = view.getUint8(start + 4)
    let at = start + zstdHeaderBytes(flags)
    for (let isLast = false; !isLast; ) {
      const block = zstdBlock(view.getUint16(at, true) | (view.getUint8(at + 2) << 16))
      isLast = block.isLast
      at += BLOCK_HEADER_BYTES + block.bytes
    }
    return at + zstdChecksumBytes(flags)
  },
}

/** Unpacks frames, at most `limit` bytes. Throws MALFORMED_DATA, or an error of zlib. */
export function unpackZstd(packed: Uint8Array, limit: number): Uint8Array {
  return unpackFrames(packed, limit, ZSTD, (frame, maxOutputLength) =>
    zlib.zstdDecompressSync(frame, { maxOutputLength }),
  )
}
