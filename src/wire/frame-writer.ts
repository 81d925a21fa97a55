import { ByteWriter } from '../core/byte-writer.ts'
import { WeirError } from '../core/errors.ts'
import { textOfKeyBytes } from '../core/formats/key-text.ts'
import { HEADER_BYTES } from './frame.ts'
import { writeFloat32, writeInt53, writeUint16, writeUint32 } from './little-endian.ts'

const encoder = new TextEncoder()

/** Longest key or name on the wire, in bytes. */
export const MAX_KEY_BYTES = 65535

/** A ByteWriter that writes frames: begin, write the body, end. */
export class FrameWriter extends ByteWriter {
  private frameAt = 0
  private isOpen = false

  /** Starts a frame at the end of what was written. */
  begin(kind: number, flags: number, requestId: number): void {
    this.reserve(HEADER_BYTES)
    const at = this.length
    this.frameAt = at
    this.isOpen = true
    this.bytes[at + 4] = kind
    this.bytes[at + 5] = flags
    writeUint32(this.bytes, at + 8, requestId)
    this.length = at + HEADER_BYTES
  }

  /** Adds flags to the open frame. */
  addFlags(flags: number): void {
    this.bytes[this.frameAt + 5]! |= flags
  }

  /** Ends the frame, which holds `count` requests or answers. */
  end(count: number): void {
    writeUint32(this.bytes, this.frameAt, this.length - this.frameAt - 4)
    writeUint16(this.bytes, this.frameAt + 6, count)
    this.isOpen = false
  }

  /** Bytes of the open frame so far, its length field included. */
  get frameBytes(): number {
    return this.length - this.frameAt
  }

  /** Removes a frame that was begun and not ended; does nothing without one. */
  abandon(): void {
    if (this.isOpen) this.length = this.frameAt
    this.isOpen = false
  }

  /** UTF-8 text after its byte length as uint16. Throws KEY_TOO_LONG. */
  key(text: string): void {
    const characters = text.length
    if (characters > MAX_KEY_BYTES) throw keyTooLong(characters)
    this.reserve(2 + characters * 3)
    const bytes = this.bytes
    const start = this.length + 2
    let at = start
    if (characters <= SHORT) {
      for (let i = 0; i < characters; i++) {
        const code = text.charCodeAt(i)
        if (code > 0x7f) {
          at = this.encode(text, start)
          break
        }
        bytes[at++] = code
      }
    } else at = this.encode(text, start)
    const length = at - start
    bytes[start - 2] = length
    bytes[start - 1] = length >>> 8
    this.length = at
  }

  private encode(text: string, start: number): number {
    const { written } = encoder.encodeInto(text, this.bytes.subarray(start))
    if (written > MAX_KEY_BYTES) throw keyTooLong(written)
    return start + written
  }

  /** Bytes after their length as uint16. Throws KEY_TOO_LONG. */
  keyBytes(key: Uint8Array): void {
    if (key.length > MAX_KEY_BYTES) throw keyTooLong(key.length)
    this.uint16(key.length)
    this.raw(key)
  }

  /** The bytes from `from` to `end` after their length as uint16; without an object for them. */
  keyRange(bytes: Uint8Array, from: number, end: number): void {
    this.uint16(end - from)
    this.reserve(end - from)
    const target = this.bytes
    let to = this.length
    for (let at = from; at < end; at++) target[to++] = bytes[at]!
    this.length = to
  }

  /**
   * A key in `bytes[from .. end)` as text after its length as uint16, as `textOfKeyBytes`. ASCII is copied without a
   * string.
   */
  keyText(bytes: Uint8Array, from: number, end: number): void {
    for (let at = from; at < end; at++) {
      if (bytes[at]! <= 0x7f) continue
      this.key(textOfKeyBytes(bytes.subarray(from, end)))
      return
    }
    if (end - from > MAX_KEY_BYTES) throw keyTooLong(end - from)
    this.keyRange(bytes, from, end)
  }

  /** One prediction's answer: status, flags, score. */
  scoreItem(status: number, flags: number, score: number): void {
    this.reserve(6)
    const at = this.length
    this.bytes[at] = status
    this.bytes[at + 1] = flags
    writeFloat32(this.bytes, at + 2, score)
    this.length = at + 6
  }

  /** An int64, not aligned. */
  int64(value: number): void {
    this.reserve(8)
    writeInt53(this.bytes, this.length, value)
    this.length += 8
  }

  /** Float32 values without a length, little-endian. */
  floats(values: Float32Array): void {
    this.raw(new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
  }

  /** The bytes written so far, as a view that is valid until the next write. */
  written(): Uint8Array {
    return this.bytes.subarray(0, this.length)
  }
}

/** Up to this length a loop over characters is faster than the encoder. */
const SHORT = 48

function keyTooLong(length: number): WeirError {
  return new WeirError('KEY_TOO_LONG', `a key of ${length} bytes exceeds ${MAX_KEY_BYTES}`)
}
