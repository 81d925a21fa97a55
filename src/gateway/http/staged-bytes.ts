/** Bytes of a piece of memory. */
const PIECE_BYTES = 256 * 1024
/** Free pieces that are kept; they hold no memory, but take the collector's time when they are made again and again. */
const MOST_FREE = 1024

/** Pieces whose memory goes to the system in one turn of the event loop: about 2 ms. */
const TURN_PIECES = 32

/** Pieces of this thread without memory. */
const free: ArrayBuffer[] = []
/** Pieces that were given back and have their memory until one of the next turns, or until they are used again. */
const given: ArrayBuffer[] = []
let isTrimming = false

function takePiece(): ArrayBuffer {
  const withMemory = given.pop()
  if (withMemory !== undefined) return withMemory
  const piece = free.pop() ?? new ArrayBuffer(0, { maxByteLength: PIECE_BYTES })
  piece.resize(PIECE_BYTES)
  return piece
}

/** Gives a piece back. Hundreds of bodies may end at the same time, whose memory would take a long turn to give away. */
function givePiece(piece: ArrayBuffer): void {
  given.push(piece)
  if (isTrimming) return
  isTrimming = true
  setImmediate(trim)
}

/** Gives the memory of some pieces to the system. */
function trim(): void {
  for (const piece of given.splice(-TURN_PIECES)) {
    piece.resize(0)
    if (free.length < MOST_FREE) free.push(piece)
  }
  isTrimming = given.length > 0
  if (isTrimming) setImmediate(trim)
}

/**
 * Bytes of a body that is not whole, in memory of their own: pages that the system gets back soon. Chunks of a socket
 * are parts of a heap, which keeps them for a later use when a thousand clients have left.
 */
export class StagedBytes {
  private pieces: ArrayBuffer[] = []
  /** Bytes of the last piece that are used. */
  private used = PIECE_BYTES

  /** Adds a copy of a chunk. */
  add(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.used === PIECE_BYTES) {
        this.pieces.push(takePiece())
        this.used = 0
      }
      const length = Math.min(chunk.length - at, PIECE_BYTES - this.used)
      const piece = new Uint8Array(this.pieces.at(-1)!, this.used, length)
      piece.set(chunk.subarray(at, at + length))
      this.used += length
      at += length
    }
  }

  /** The bytes, in place: valid until they are given back. */
  *parts(): Generator<Buffer> {
    for (const [i, piece] of this.pieces.entries()) {
      yield Buffer.from(piece, 0, i < this.pieces.length - 1 ? PIECE_BYTES : this.used)
    }
  }

  /** Gives the memory back. */
  release(): void {
    for (const piece of this.pieces) givePiece(piece)
    this.pieces = []
    this.used = PIECE_BYTES
  }
}
