import { WeirError } from '../core/errors.ts'
import { lz4Module } from './compression-modules.ts'

/**
 * An LZ4 frame: magic 0x184D2204, flags, block size class, ..., then blocks, each after its size
 * (little-endian u32, high bit: not compressed), and a zero size at the end. Source: "LZ4 Frame
 * Format Description" 1.6.
 */
const MAGIC = 0x184d2204
const BLOCK_CHECKSUM_FLAG = 0x10
const CONTENT_SIZE_FLAG = 0x08
const DICTIONARY_FLAG = 0x01

/** Compresses bytes into one frame. */
export function packLz4(bytes: Uint8Array): Uint8Array {
  return lz4Module().compressFrameSync(asBuffer(bytes))
}

/** Unpacks one frame, at most `limit` bytes. Throws MALFORMED_DATA, or an error of the binding. */
export function unpackLz4(packed: Uint8Array, limit: number): Uint8Array {
  if (largestUnpacked(packed) > limit) refuse('it unpacks to more than is allowed')
  return lz4Module().decompressFrameSync(asBuffer(packed))
}

/** An upper bound of the unpacked length, from the number of blocks and their largest size. */
function largestUnpacked(packed: Uint8Array): number {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.length)
  if (packed.length < 7 || view.getUint32(0, true) !== MAGIC) refuse('it is not a frame')
  const flags = packed[4]!
  const sizeClass = (packed[5]! >>> 4) & 7
  if (sizeClass < 4) refuse(`block size ${sizeClass} is not defined`)
  const blockSize = 2 ** (2 * sizeClass + 8)
  const trailer = (flags & BLOCK_CHECKSUM_FLAG) === 0 ? 0 : 4
  let at = 7
  if ((flags & CONTENT_SIZE_FLAG) !== 0) at += 8
  if ((flags & DICTIONARY_FLAG) !== 0) at += 4
  let blocks = 0
  for (;;) {
    if (at + 4 > packed.length) refuse('a block is incomplete')
    const size = view.getUint32(at, true) & 0x7fffffff
    if (size === 0) return blocks * blockSize
    blocks += 1
    at += 4 + size + trailer
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

function refuse(problem: string): never {
  throw new WeirError('MALFORMED_DATA', `the lz4 data is broken: ${problem}`)
}
