import { WeirError } from '../core/errors.ts'
import { type FrameReader, HEADER_BYTES } from './frame.ts'
import type { FrameWriter } from './frame-writer.ts'
import { readFloat64, readInt32, readInt53, readUint16, readUint32 } from './little-endian.ts'
import type { Consistency } from './model-reader.ts'

/**
 * What every request about a state begins with, once for all requests of the frame.
 *
 *   12          16            20            21   22            24          28                36
 *   +-----------+-------------+-------------+----+-------------+-----------+-----------------+-------+
 *   | version   | deadline ms | consistency | 0  | state bytes | partition | offset i64 or   | state |
 *   | u32, 0 =  | u32         | u8          |    | u16         | i32       | max age ms f64  | UTF-8 |
 *   | live      |             |             |    |             |           |                 |       |
 *   +-----------+-------------+-------------+----+-------------+-----------+-----------------+-------+
 *
 * Consistency: 0 live, 1 checkpoint, 2 at-least (partition, offset), 3 bounded (max age). Keys that
 * follow are a uint16 of bytes and the bytes. Flags say which stand-in keys come first.
 */

/** First byte of the state name. */
export const STATE_AT = 36
/** Most sparse features in one request. */
export const MAX_FEATURES = 1_000_000
/** Most results of one top-k query. */
export const MAX_K = 1000

const LIVE: Consistency = { level: 'live' }
const CHECKPOINT: Consistency = { level: 'checkpoint' }
const LEVELS = { live: 0, checkpoint: 1, 'at-least': 2, bounded: 3 } as const
const decoder = new TextDecoder('utf-8', { fatal: true })

/** Begins a request frame about a state; the caller appends the body and ends the frame. */
export function beginRequest(
  writer: FrameWriter,
  kind: number,
  flags: number,
  requestId: number,
  preamble: {
    readonly state: string
    readonly version: number
    readonly deadlineMs: number
    readonly consistency: Consistency
  },
): void {
  const { consistency } = preamble
  writer.begin(kind, flags, requestId)
  writer.uint32(preamble.version)
  writer.uint32(Math.min(preamble.deadlineMs, 0xffffffff))
  writer.uint8(LEVELS[consistency.level])
  writer.uint8(0)
  const lengthAt = writer.length
  writer.uint16(0)
  writer.int32(consistency.level === 'at-least' ? consistency.partition : 0)
  if (consistency.level === 'bounded') writer.float64(consistency.maxAgeMs)
  else writer.int64(consistency.level === 'at-least' ? consistency.offset : 0)
  // The name's length belongs to the fixed part: written as a key, then moved over its own length.
  const nameAt = writer.length
  writer.key(preamble.state)
  writer.bytes[lengthAt] = writer.bytes[nameAt]!
  writer.bytes[lengthAt + 1] = writer.bytes[nameAt + 1]!
  writer.bytes.copyWithin(nameAt, nameAt + 2, writer.length)
  writer.length -= 2
}

/**
 * Reads a request frame in place. One cursor serves a connection: it is opened on each frame and
 * holds no bytes of its own.
 */
export class RequestCursor {
  bytes: Uint8Array = new Uint8Array(0)
  /** Next byte to read. */
  at = 0
  end = 0
  kind = 0
  flags = 0
  count = 0
  requestId = 0
  /** 0 asks for the live version. */
  version = 0
  deadlineMs = 0
  consistency: Consistency = LIVE
  /** Name of the state. */
  state = ''
  /** First byte of the key that `nextKey` read. */
  keyAt = 0
  keyLength = 0
  private stateBytes: Uint8Array = new Uint8Array(0)

  /** Opens the frame the reader stands on, without its preamble. */
  open(frame: FrameReader): void {
    this.bytes = frame.bytes
    this.at = frame.start + HEADER_BYTES
    this.end = frame.end
    this.kind = frame.kind
    this.flags = frame.flags
    this.count = frame.count
    this.requestId = frame.requestId
  }

  /** Bytes not read yet. */
  get remaining(): number {
    return this.end - this.at
  }

  /** Reads what all requests of the frame share. Throws PROTOCOL_ERROR. */
  readPreamble(): void {
    const at = this.take(STATE_AT - HEADER_BYTES)
    this.version = readUint32(this.bytes, at)
    this.deadlineMs = readUint32(this.bytes, at + 4)
    this.consistency = this.readConsistency(this.bytes[at + 8]!, at + 12)
    this.readState(readUint16(this.bytes, at + 10))
  }

  private readConsistency(level: number, at: number): Consistency {
    if (level === LEVELS.live) return LIVE
    if (level === LEVELS.checkpoint) return CHECKPOINT
    if (level === LEVELS['at-least']) {
      const offset = readInt53(this.bytes, at + 4)
      if (!(offset >= 0)) throw broken('the offset of at-least is not a number of 53 bits')
      return { level: 'at-least', partition: readInt32(this.bytes, at), offset }
    }
    if (level !== LEVELS.bounded) throw broken(`consistency ${level} does not exist`)
    const maxAgeMs = readFloat64(this.bytes, at + 4)
    if (!(maxAgeMs >= 0)) throw broken('the age of bounded is negative or no number')
    return { level: 'bounded', maxAgeMs }
  }

  /** Consecutive frames mostly name the same state: its text is decoded once. */
  private readState(length: number): void {
    const at = this.take(length)
    if (this.sameState(at, length)) return
    this.state = this.decode(at, length)
    this.stateBytes = this.bytes.slice(at, at + length)
  }

  private sameState(at: number, length: number): boolean {
    const known = this.stateBytes
    if (known.length !== length) return false
    for (let i = 0; i < length; i++) if (known[i] !== this.bytes[at + i]) return false
    return length > 0
  }

  /** Moves over `count` bytes and returns where they start. Throws PROTOCOL_ERROR. */
  take(count: number): number {
    const at = this.at
    if (count > this.end - at) throw broken(`its body ends ${count - this.end + at} bytes early`)
    this.at = at + count
    return at
  }

  /** Reads a key's place into `keyAt` and `keyLength`. Throws PROTOCOL_ERROR. */
  nextKey(): void {
    const at = this.at
    if (at + 2 > this.end) throw broken('a key is missing')
    const length = this.bytes[at]! | (this.bytes[at + 1]! << 8)
    if (at + 2 + length > this.end) throw broken('a key is cut off')
    this.keyAt = at + 2
    this.keyLength = length
    this.at = at + 2 + length
  }

  /** Reads a key as text. */
  text(): string {
    this.nextKey()
    return this.decode(this.keyAt, this.keyLength)
  }

  uint16(): number {
    return readUint16(this.bytes, this.take(2))
  }

  uint32(): number {
    return readUint32(this.bytes, this.take(4))
  }

  /** Reads `count` uint32 numbers into an array of their own. */
  uint32s(count: number): Uint32Array {
    const at = this.take(count * 4)
    return new Uint32Array(this.bytes.slice(at, at + count * 4).buffer)
  }

  /** Reads `count` float32 numbers into an array of their own. */
  float32s(count: number): Float32Array {
    const at = this.take(count * 4)
    return new Float32Array(this.bytes.slice(at, at + count * 4).buffer)
  }

  /** Text of a range of the frame. Throws PROTOCOL_ERROR unless it is UTF-8. */
  decode(at: number, length: number): string {
    try {
      return decoder.decode(this.bytes.subarray(at, at + length))
    } catch (cause) {
      throw new WeirError('PROTOCOL_ERROR', 'a request is malformed: a text is not UTF-8', {
        cause,
      })
    }
  }

  /** Throws PROTOCOL_ERROR unless the whole body was read. */
  finish(): void {
    if (this.at !== this.end) throw broken(`${this.end - this.at} bytes follow its end`)
  }
}

function broken(why: string): WeirError {
  return new WeirError('PROTOCOL_ERROR', `a request is malformed: ${why}`)
}
