import type { ByteSpan } from '../core/byte-span.ts'
import { copyBytes } from '../core/copy-bytes.ts'

/** Aligns the floats of a row that is given as bytes: one buffer that every row fills anew. */
export class GivenRow {
  readonly vector: Float32Array
  private readonly bytes: Uint8Array

  constructor(dimension: number) {
    this.vector = new Float32Array(dimension)
    this.bytes = new Uint8Array(this.vector.buffer)
  }

  /** Takes the floats; false when there are more or fewer than a row has. */
  take({ bytes, start, length }: ByteSpan): boolean {
    if (length !== this.bytes.length) return false
    copyBytes(bytes, start, this.bytes, 0, length)
    return true
  }
}
