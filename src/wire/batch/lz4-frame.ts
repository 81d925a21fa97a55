import { WeirError } from '../../core/errors.ts'
import { lz4Module } from './compression-modules.ts'
import { type FrameFormat, unpackFrames } from './frames.ts'

/**
 * An LZ4 frame: magic 0x184D2204, flags, block size class, ..., then blocks, each after its size
 * (little-endian u32, high bit: not compressed), and a zero size at the end. Source: "LZ4 Frame
 * Format Description" 1.6.
 */
const MAGIC = 0x184d2204
const BLOCK_CHECKSUM_FLAG = 0x10
const CONTENT_SIZE_FLAG = 0x08
const CONTENT_CHECKSUM_FLAG = 0x04
const DICTIONARY_FLAG = 0x01

/** Compresses bytes into one frame. */
export function packLz4(bytes: Uint8Array): Uint8Array {
  return lz4Module().compressFrameSync(asBuffer(bytes))
}

const LZ4: FrameFormat = {
  name: 'lz4',
  magic: MAGIC,
  endOf(view, at) {
    const hasChecksum = (view.getUint8(at + 4) & CONTENT_CHECKSUM_FLAG) !== 0
    return blocksOf(view, at).end + (hasChecksum ? 4 : 0)
  },
}

/** Unpacks frames, at most `limit` bytes. Throws MALFORMED_DATA, or an error of the binding. */
export function unpackLz4(packed: Uint8Array, limit: number): Uint8Array {
  return unpackFrames(packed, limit, LZ4, (frame, most) => {
    if (largestUnpacked(frame) > most) refuse('it unpacks to more than is allowed')
    return lz4Module().decompressFrameSync(asBuffer(frame))
  })
}

/** An upper bound of the unpacked length, from the number of blocks and their largest size. */
function largestUnpacked(frame: Uint8Array): number {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length)
  const sizeClass = (view.getUint8(5) >>> 4) & 7
  if (sizeClass < 4) refuse(`block size ${sizeClass} is not defined`)
  return blocksOf(view, 0).count * 2 ** (2 * sizeClass + 8)
}

/** The number of blocks of the frame at `start`, and where their end mark ends. */
function blocksOf(view: DataView, start: number): { readonly count: number; readonly end: number } {
  const flags = view.getUint8(start + 4)
  const trailer = (flags & BLOCK_CHECKSUM_FLAG) === 0 ? 0 : 4
  let at = start + 7
  if ((flags & CONTENT_SIZE_FLAG) !== 0) at += 8
  if ((flags & DICTIONARY_FLAG) !== 0) at += 4
  for (let count = 0; ; count++) {
    const size = view.getUint32(at, true) & 0x7fffffff
    if (size === 0) return { count, end: at + 4 }
    at += 4 + size + trailer
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

function refuse(problem: string): never {
  throw new WeirError('MALFORMED_DATA', `the lz4 data is broken: ${problem}`)
}
