import {
  BLOCK_HEADER_BYTES,
  zstdBlock,
  zstdChecksumBytes,
  zstdHeaderBytes,
} from '../../batch/zstd-frame.ts'

/** Bytes of the magic number of a frame, and of the flags behind it. */
const PREFIX_BYTES = 5
/** Bytes of the header of a frame that is passed over: a magic number and a length. */
const SKIPPED_HEADER_BYTES = 8

/**
 * The bytes of a zstd file, cut where a frame ends (RFC 8878). Node's stream passes over what follows a frame in the same
 * piece, without an error: of a file of several frames, as `pzstd` and `cat` make them, most would be missing.
 */
export async function* zstdFrames(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const walk = new FrameWalk()
  for await (const piece of pieces) {
    for (let from = 0; from < piece.length; ) {
      const to = walk.end(piece, from)
      yield piece.subarray(from, to)
      from = to
    }
  }
}

/** Follows the headers of frames and blocks, which may be in several pieces. */
class FrameWalk {
  /** The header that is being read. */
  private header: number[] = []
  /** Bytes that are passed over before the next header. */
  private left = 0
  private isInFrame = false
  /** Whether the frame ends behind what is passed over. */
  private isLast = false
  private checksumBytes = 0

  /** The end of the frame in a piece, from a place in it; that of the piece if the frame goes on. */
  end(piece: Uint8Array, from: number): number {
    for (let at = from; at < piece.length; ) {
      if (this.left === 0) {
        this.header.push(piece[at++]!)
        if (this.header.length < this.headerBytes()) continue
        this.readHeader()
      }
      const passed = Math.min(this.left, piece.length - at)
      this.left -= passed
      at += passed
      if (this.left > 0 || !this.isLast) continue
      this.isInFrame = false
      this.isLast = false
      return at
    }
    return piece.length
  }

  private headerBytes(): number {
    if (this.isInFrame) return BLOCK_HEADER_BYTES
    if (this.isSkipped()) return SKIPPED_HEADER_BYTES
    const [, , , , flags] = this.header
    return flags === undefined ? PREFIX_BYTES : zstdHeaderBytes(flags)
  }

  /** Whether the header is that of a frame without data, as `pzstd` writes them for itself. */
  private isSkipped(): boolean {
    const [first = 0, second, third, fourth] = this.header
    return (first & 0xf0) === 0x50 && second === 0x2a && third === 0x4d && fourth === 0x18
  }

  private readHeader(): void {
    const { header } = this
    const isSkipped = this.isSkipped()
    this.header = []
    if (this.isInFrame) {
      const { bytes, isLast } = zstdBlock(header[0]! | (header[1]! << 8) | (header[2]! << 16))
      this.isLast = isLast
      this.left = bytes + (isLast ? this.checksumBytes : 0)
    } else if (isSkipped) {
      this.isLast = true
      this.left = new DataView(Uint8Array.from(header).buffer).getUint32(4, true)
    } else {
      this.isInFrame = true
      this.checksumBytes = zstdChecksumBytes(header[4]!)
    }
  }
}
