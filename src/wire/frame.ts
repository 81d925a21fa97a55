import { WeirError } from '../core/errors.ts'
import { largeBuffers } from '../core/lifetime/large-buffers.ts'
import { readUint16, readUint32 } from './little-endian.ts'

/**
 * The frame of every message of the query protocol. Numbers are little-endian.
 *
 *   0            4      5       6         8            12
 *   +------------+------+-------+---------+------------+------------------+
 *   | length u32 | kind | flags | count   | request id | body             |
 *   |            | u8   | u8    | u16     | u32        | length - 8 bytes |
 *   +------------+------+-------+---------+------------+------------------+
 *
 * `length` counts the bytes after itself, so a frame takes 4 + length bytes and 8 <= length.
 * `count` is the number of requests or answers in the body. `docs/reference/query-protocol.md`
 * draws the bodies.
 */

/** Protocol version of this build. */
export const PROTOCOL_VERSION = 1
/** First bytes of a hello's body, "WEIR". */
export const MAGIC = 0x52494557
/** Bytes before the body. */
export const HEADER_BYTES = 12
/** Bytes that `length` counts besides the body. */
const LENGTH_OVERHEAD = 8
/** Most requests in one frame. */
export const MAX_COUNT = 65535
/** Largest frame (its `length`) that a hello may announce. */
export const MAX_FRAME_BYTES = 64 * 1024 * 1024
/** Default limit of a frame's `length`. */
export const DEFAULT_FRAME_BYTES = 1024 * 1024
/** Smallest frame limit that a hello may announce. */
export const MIN_FRAME_BYTES = 4096

/** Kinds of frames; an answer's kind is its request's plus 0x80. */
export const KIND = {
  hello: 0x01,
  predict: 0x02,
  rows: 0x03,
  values: 0x04,
  scan: 0x05,
  sparseDot: 0x06,
  topK: 0x07,
  routing: 0x08,
  ping: 0x09,
  infer: 0x0a,
  models: 0x0c,
  /** The span below which the next request of this id runs; no answer follows. */
  trace: 0x0d,
  error: 0xff,
} as const

const NAMES = new Map(Object.entries(KIND).map(([name, kind]) => [kind as number, name]))

/** Name of a kind, for spans: `topK`. */
export function nameOfKind(kind: number): string {
  return NAMES.get(kind) ?? String(kind)
}

/** Added to a request's kind to make its answer's. */
export const ANSWER = 0x80

/** Flags of a request frame. */
export const REQUEST_FLAG = {
  /** Every answer carries its own envelope. */
  envelope: 1,
  /** A key stands in for a missing left row (for the query row of a top-k). */
  coldLeft: 2,
  /** A key stands in for a missing right row. */
  coldRight: 4,
  /** The top-k query is a vector, not a key. */
  vector: 8,
  /** Sparse vectors are packed (`sparse-vector.ts`), and there may be several. */
  packed: 16,
  /** A scan is of the one job partition that follows. */
  partition: 16,
  /** Scores of a top-k are divided by the norm of their row. */
  norm: 32,
  /** A top-k has rules over tags. */
  where: 64,
  /** A top-k is among keys that follow. */
  among: 128,
} as const

/** In the number of the first tags of the rules of a top-k: boosts follow the rules. */
export const BOOSTS_FOLLOW = 0x8000

/** Flags of an answer frame. */
export const ANSWER_FLAG = {
  /** Every answer carries its own envelope. */
  envelope: 1,
  /** Messages of failed answers follow the last answer. */
  details: 2,
  /** The scan has more entries: the body ends with the key to continue from. */
  more: 4,
} as const

/** Flags of one answer. */
export const ITEM_FLAG = { leftCold: 1, rightCold: 2 } as const

/** Status of an answer whose value follows in a later frame of the same request id. */
export const DEFERRED = 255

/** Splits a byte stream into frames, in place where a chunk holds whole frames. */
export class FrameReader {
  /** Bytes that hold the current frame; valid until the next `append`. */
  bytes: Uint8Array = EMPTY
  /** First byte of the current frame (its length field). */
  start = 0
  /** First byte after the current frame. */
  end = 0
  private readonly maxFrameBytes: () => number
  /** First byte that no frame has taken. */
  private at = 0
  private limit = 0
  private own: Uint8Array<ArrayBuffer> = EMPTY
  /** Whether `own` was needed since the last `shrink`. */
  private ownUsed = false

  /** `maxFrameBytes` gives the largest `length` that is accepted; it is called for each frame. */
  constructor(maxFrameBytes: () => number) {
    this.maxFrameBytes = maxFrameBytes
  }

  /** Bytes received that no frame has taken yet. */
  get buffered(): number {
    return this.limit - this.at
  }

  /**
   * Adds received bytes. The chunk is read in place until the next `append` copies the rest of it.
   * Memory grows with the bytes received, never with a length that was only announced. Returns whether the chunk itself was
   * copied, so that no one reads it any more.
   */
  append(chunk: Uint8Array): boolean {
    if (this.at === this.limit) {
      // Frames are sliced as Uint8Array, which copies: slice() of a Buffer would be a view.
      this.bytes = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length)
      this.at = 0
      this.limit = chunk.length
      return false
    }
    this.makeRoom(chunk.length)
    this.own.set(chunk, this.limit)
    this.limit += chunk.length
    return true
  }

  /** Adds a copy of `bytes[from .. to)`. */
  appendCopy(bytes: Uint8Array, from: number, to: number): void {
    this.makeRoom(to - from)
    const { own, limit } = this
    // A view costs more than the bytes of a short frame, and thousands of them are collected later.
    if (to - from > VIEWED_BYTES) own.set(bytes.subarray(from, to), limit)
    else for (let i = from; i < to; i++) own[limit + i - from] = bytes[i]!
    this.limit = limit + to - from
  }

  /** Copies the rest of a chunk, because its memory will be used again. */
  detach(): void {
    if (this.at !== this.limit && this.bytes !== this.own) this.makeRoom(0)
  }

  /** Releases a large buffer that was not needed since the last call. Call it from time to time. */
  shrink(): void {
    if (!this.ownUsed && this.at === this.limit && this.own.length > KEPT_BYTES) this.release()
    this.ownUsed = false
  }

  /** Releases the buffer and what it holds: the stream has ended. */
  release(): void {
    largeBuffers.give(this.own)
    this.own = EMPTY
    this.bytes = EMPTY
    this.at = 0
    this.limit = 0
  }

  private makeRoom(count: number): void {
    this.ownUsed = true
    const rest = this.limit - this.at
    if (this.bytes === this.own && this.limit + count <= this.own.length) return
    if (rest + count > this.own.length) {
      const grown = largeBuffers.take(Math.max(rest + count, this.own.length * 2, 4096))
      grown.set(this.bytes.subarray(this.at, this.limit))
      largeBuffers.give(this.own)
      this.own = grown
    } else if (this.bytes === this.own) this.own.copyWithin(0, this.at, this.limit)
    else this.own.set(this.bytes.subarray(this.at, this.limit))
    this.bytes = this.own
    this.at = 0
    this.limit = rest
  }

  /**
   * Moves to the next whole frame; false when more bytes are needed. Throws PROTOCOL_ERROR or
   * FRAME_TOO_LARGE; the stream cannot be read after that.
   */
  next(): boolean {
    const available = this.limit - this.at
    if (available < 4) return false
    const length = readUint32(this.bytes, this.at)
    if (length < LENGTH_OVERHEAD) {
      throw new WeirError('PROTOCOL_ERROR', `a frame of ${length} bytes cannot hold its header`)
    }
    if (length > this.maxFrameBytes()) {
      refuseOtherProtocol(this.bytes, this.at)
      throw new WeirError(
        'FRAME_TOO_LARGE',
        `a frame of ${length} bytes exceeds the limit of ${this.maxFrameBytes()}; send fewer requests in one frame`,
        { details: { length, limit: this.maxFrameBytes() } },
      )
    }
    if (available < 4 + length) return false
    this.start = this.at
    this.end = this.at + 4 + length
    this.at = this.end
    return true
  }

  /** Kind of the current frame. */
  get kind(): number {
    return this.bytes[this.start + 4]!
  }

  /** Flags of the current frame. */
  get flags(): number {
    return this.bytes[this.start + 5]!
  }

  /** Requests or answers in the current frame. */
  get count(): number {
    return readUint16(this.bytes, this.start + 6)
  }

  /** Request id of the current frame; 0 belongs to the connection. */
  get requestId(): number {
    return readUint32(this.bytes, this.start + 8)
  }
}

const EMPTY = new Uint8Array(0)
/** A range that is longer is copied as a view. */
const VIEWED_BYTES = 256
/** `shrink` releases an accumulation buffer that is larger than this. */
const KEPT_BYTES = 256 * 1024

/** Starts of what peers of other protocols send, as text. */
const OTHER_PROTOCOLS: Readonly<Record<string, string>> = {
  HTTP: 'HTTP',
  'GET ': 'HTTP',
  POST: 'HTTP',
  HEAD: 'HTTP',
  'SSH-': 'SSH',
}

/** Throws PROTOCOL_ERROR if the bytes are the start of another protocol. */
function refuseOtherProtocol(bytes: Uint8Array, at: number): void {
  const start = String.fromCharCode(...bytes.subarray(at, at + 4))
  const name = Object.hasOwn(OTHER_PROTOCOLS, start) ? OTHER_PROTOCOLS[start] : undefined
  if (name === undefined) return
  throw new WeirError(
    'PROTOCOL_ERROR',
    `the peer speaks ${name}, not the query protocol of Weir; check host and port`,
    { details: { protocol: name } },
  )
}
