import { copyBytes } from './copy-bytes.ts'
import { WeirError } from './errors.ts'

const encoder = new TextEncoder()

/** Most bytes of a varuint. */
export const LONGEST_VARUINT = 5

/** Bytes of an unsigned LEB128 number below 2^32. */
export function varuintBytes(value: number): number {
  if (value < 0x80) return 1
  if (value < 0x4000) return 2
  if (value < 0x200000) return 3
  return value < 0x10000000 ? 4 : LONGEST_VARUINT
}

/**
 * A growing buffer that values are written into; numbers are little-endian unless a name says
 * otherwise. `bytes` up to `length` are valid until the next `reset`.
 */
export class ByteWriter {
  bytes: Uint8Array
  length = 0
  private view: DataView

  constructor(initialCapacity = 1024) {
    this.bytes = new Uint8Array(initialCapacity)
    this.view = new DataView(this.bytes.buffer)
  }

  /** Empties the buffer and keeps its memory. */
  reset(): void {
    this.length = 0
  }

  /** Makes room for `count` more bytes. */
  reserve(count: number): void {
    const needed = this.length + count
    if (needed <= this.bytes.length) return
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2))
    grown.set(this.bytes.subarray(0, this.length))
    this.bytes = grown
    this.view = new DataView(grown.buffer)
  }

  uint8(value: number): void {
    this.reserve(1)
    this.bytes[this.length++] = value
  }

  uint16(value: number): void {
    this.reserve(2)
    this.view.setUint16(this.length, value, true)
    this.length += 2
  }

  uint32(value: number): void {
    this.reserve(4)
    this.view.setUint32(this.length, value, true)
    this.length += 4
  }

  int32(value: number): void {
    this.reserve(4)
    this.view.setInt32(this.length, value, true)
    this.length += 4
  }

  /** A whole number that a double holds exactly, as 64 bits two's complement. */
  int53(value: number): void {
    if (!Number.isSafeInteger(value)) refuseNumber(value)
    this.reserve(8)
    this.view.setUint32(this.length, value >>> 0, true)
    this.view.setInt32(this.length + 4, Math.floor(value / 4294967296), true)
    this.length += 8
  }

  float32(value: number): void {
    this.reserve(4)
    this.view.setFloat32(this.length, value, true)
    this.length += 4
  }

  float64(value: number): void {
    this.reserve(8)
    this.view.setFloat64(this.length, value, true)
    this.length += 8
  }

  /** Bytes as they are, without a length. */
  raw(bytes: Uint8Array): void {
    this.reserve(bytes.length)
    this.length = copyBytes(bytes, 0, this.bytes, this.length, bytes.length)
  }

  /** As `raw`, of a part of `bytes`. */
  copy(bytes: Uint8Array, start: number, length: number): void {
    this.reserve(length)
    this.length = copyBytes(bytes, start, this.bytes, this.length, length)
  }

  /** An unsigned LEB128 number below 2^32. */
  varuint(value: number): void {
    this.reserve(LONGEST_VARUINT)
    let rest = value >>> 0
    while (rest > 0x7f) {
      this.bytes[this.length++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    this.bytes[this.length++] = rest
  }

  /** Bytes preceded by their length as varuint. */
  sized(bytes: Uint8Array): void {
    this.varuint(bytes.length)
    this.raw(bytes)
  }

  /** UTF-8 text preceded by its byte length as varuint. */
  text(text: string): void {
    this.sized(encoder.encode(text))
  }

  /** A copy of what was written. */
  toBytes(): Uint8Array {
    return this.bytes.slice(0, this.length)
  }
}

function refuseNumber(value: number): never {
  throw new WeirError('INVALID_ARGUMENT', `${value} is not a whole number of 53 bits`)
}
