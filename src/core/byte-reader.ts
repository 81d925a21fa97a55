import { WeirError } from './errors.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Reader of what a ByteWriter wrote; every read past the end throws MALFORMED_DATA. */
export class ByteReader {
  readonly bytes: Uint8Array
  position: number
  end: number
  /** Made with the first number that needs it: most readers live for one short value. */
  private dataView: DataView | undefined

  constructor(bytes: Uint8Array, start = 0, end: number = bytes.length) {
    this.bytes = bytes
    this.position = start
    this.end = end
    this.dataView = undefined
  }

  private get view(): DataView {
    return this.dataView ?? this.makeView()
  }

  /** Apart from its use: `buffer` of an array is a call out of compiled code. */
  private makeView(): DataView {
    const { buffer, byteOffset, byteLength } = this.bytes
    this.dataView = new DataView(buffer, byteOffset, byteLength)
    return this.dataView
  }

  /** Points the reader at another span of the same bytes. */
  span(start: number, end: number): void {
    this.position = start
    this.end = end
  }

  /** Bytes not read yet. */
  get remaining(): number {
    return this.end - this.position
  }

  private take(count: number): number {
    const at = this.position
    if (count < 0 || at + count > this.end) {
      throw new WeirError(
        'MALFORMED_DATA',
        `${count} bytes expected at ${at}, ${this.end - at} left`,
      )
    }
    this.position = at + count
    return at
  }

  uint8(): number {
    return this.bytes[this.take(1)]!
  }

  uint16(): number {
    return this.view.getUint16(this.take(2), true)
  }

  uint32(): number {
    return this.view.getUint32(this.take(4), true)
  }

  int32(): number {
    return this.view.getInt32(this.take(4), true)
  }

  /** Throws MALFORMED_DATA when the 64-bit number needs more than 53 bits. */
  int53(): number {
    const at = this.take(8)
    const value = this.view.getInt32(at + 4, true) * 4294967296 + this.view.getUint32(at, true)
    if (!Number.isSafeInteger(value)) {
      throw new WeirError('MALFORMED_DATA', `the number at ${at} needs more than 53 bits`)
    }
    return value
  }

  float32(): number {
    return this.view.getFloat32(this.take(4), true)
  }

  float64(): number {
    return this.view.getFloat64(this.take(8), true)
  }

  /** A view (no copy) of the next `count` bytes. */
  raw(count: number): Uint8Array {
    const at = this.take(count)
    return this.bytes.subarray(at, at + count)
  }

  varuint(): number {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.uint8()
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) {
        if (value >= 2 ** 32) break
        return value
      }
    }
    throw new WeirError('MALFORMED_DATA', `the varuint before ${this.position} exceeds 32 bits`)
  }

  sized(): Uint8Array {
    return this.raw(this.varuint())
  }

  text(): string {
    const bytes = this.sized()
    try {
      return decoder.decode(bytes)
    } catch (cause) {
      throw new WeirError('MALFORMED_DATA', `the text before ${this.position} is not UTF-8`, {
        cause,
      })
    }
  }
}
