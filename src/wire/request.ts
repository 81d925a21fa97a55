import { requireArgument, WeirError } from '../core/errors.ts'
import { isPlace, partitionOfPlace, placeOf, sourceOfPlace } from '../core/position.ts'
import { shortAscii } from '../core/text/short-text.ts'
import { type FrameReader, HEADER_BYTES } from './frame.ts'
import type { FrameWriter } from './frame-writer.ts'
import { readFloat64, readInt32, readInt53, readUint16, readUint32 } from './little-endian.ts'
import { type Consistency, MAX_K, type ReadPosition } from './model-reader.ts'
import { RecentNames } from './recent-names.ts'

/**
 * The preamble of every request frame about a state, once for all requests of the frame.
 *
 *   12          16            20            21   22            24          28                36
 *   +-----------+-------------+-------------+----+-------------+-----------+-----------------+-------+
 *   | version   | deadline ms | consistency | 0  | state bytes | place     | offset i64 or   | state |
 *   | u32, 0 =  | u32         | u8          |    | u16         | i32       | max age ms f64  | UTF-8 |
 *   | live      |             |             |    |             |           |                 |       |
 *   +-----------+-------------+-------------+----+-------------+-----------+-----------------+-------+
 *
 * Consistency: 0 live, 1 checkpoint, 2 at-least (place, offset), 3 bounded (max age). A place is source and
 * partition in one number (`placeOf`): a partition of the first source is its own place. A key is its
 * length in bytes as uint16, then the bytes. Stand-in keys come first, as the flags say.
 */

/** First byte of the state name. */
const STATE_AT = 36
/** Most sparse features in one request. */
export const MAX_FEATURES = 1_000_000

/** Throws INVALID_ARGUMENT unless a top-k query may ask for this many results. */
export function requireK(k: number): void {
  requireArgument(
    Number.isInteger(k) && k >= 1 && k <= MAX_K,
    `k is a whole number from 1 to ${MAX_K}, not ${k}`,
  )
}

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
  if (consistency.level === 'at-least') requirePlace(consistency)
  writer.begin(kind, flags, requestId)
  writer.uint32(preamble.version)
  writer.uint32(Math.min(preamble.deadlineMs, 0xffffffff))
  writer.uint8(LEVELS[consistency.level])
  writer.uint8(0)
  const lengthAt = writer.length
  writer.uint16(0)
  writer.int32(consistency.level === 'at-least' ? placeIn(consistency) : 0)
  if (consistency.level === 'bounded') writer.float64(consistency.maxAgeMs)
  else writer.int64(consistency.level === 'at-least' ? consistency.offset : 0)
  // The name is written as a key. Then its length goes to the fixed part, and the name moves up.
  const nameAt = writer.length
  writer.key(preamble.state)
  writer.bytes[lengthAt] = writer.bytes[nameAt]!
  writer.bytes[lengthAt + 1] = writer.bytes[nameAt + 1]!
  writer.bytes.copyWithin(nameAt, nameAt + 2, writer.length)
  writer.length -= 2
}

/**
 * Reads a request frame in place. A connection has one cursor, which is opened on each frame.
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
  private readonly names = new RecentNames()

  /** Opens the reader's current frame, without its preamble. */
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

  /** Reads the preamble. Throws PROTOCOL_ERROR. */
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
      const place = readInt32(this.bytes, at)
      return {
        level: 'at-least',
        source: sourceOfPlace(place),
        partition: partitionOfPlace(place),
        offset,
      }
    }
    if (level !== LEVELS.bounded) throw broken(`consistency ${level} does not exist`)
    const maxAgeMs = readFloat64(this.bytes, at + 4)
    if (!(maxAgeMs >= 0)) throw broken('the age of bounded is negative or not a number')
    return { level: 'bounded', maxAgeMs }
  }

  private readState(length: number): void {
    const at = this.take(length)
    this.state = this.names.find(this.bytes, at, length) ?? this.addName(at, length)
  }

  private addName(at: number, length: number): string {
    const name = this.decode(at, length)
    this.names.add(this.bytes.slice(at, at + length), name)
    return name
  }

  /** Moves over `count` bytes and returns where they start. Throws PROTOCOL_ERROR. */
  take(count: number): number {
    const at = this.at
    if (count > this.end - at) throw broken(`its body ends ${count - this.end + at} bytes early`)
    this.at = at + count
    return at
  }

  /** Moves over a key and sets `keyAt` and `keyLength`. Throws PROTOCOL_ERROR. */
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

  float64(): number {
    return readFloat64(this.bytes, this.take(8))
  }

  /** Copies `count` uint32 numbers. */
  uint32s(count: number): Uint32Array {
    const at = this.take(count * 4)
    return new Uint32Array(this.bytes.slice(at, at + count * 4).buffer)
  }

  /** Copies `count` float32 numbers. */
  float32s(count: number): Float32Array {
    const at = this.take(count * 4)
    return new Float32Array(this.bytes.slice(at, at + count * 4).buffer)
  }

  /** Text of a range of the frame. Throws PROTOCOL_ERROR unless it is UTF-8. */
  decode(at: number, length: number): string {
    const ascii = shortAscii(this.bytes, at, at + length)
    if (ascii !== undefined) return ascii
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

/** Throws INVALID_ARGUMENT for a position that the frame cannot hold: it would become another one. */
function requirePlace({ source = 0, partition }: ReadPosition): void {
  if (isPlace(source, partition)) return
  throw new WeirError(
    'INVALID_ARGUMENT',
    `at-least names partition ${partition} of source ${source}; use the position of an answer`,
  )
}

function placeIn({ source = 0, partition }: ReadPosition): number {
  return placeOf(source, partition)
}

function broken(why: string): WeirError {
  return new WeirError('PROTOCOL_ERROR', `a request is malformed: ${why}`)
}
