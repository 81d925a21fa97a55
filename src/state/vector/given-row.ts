import type { ByteSpan } from '../../core/byte-span.ts'
import { copyBytes } from '../../core/copy-bytes.ts'
import { WeirError } from '../../core/errors.ts'

/** Aligned floats of a row that comes as bytes: one buffer, which each row overwrites. */
export class GivenRow {
  private readonly state: string
  private vector = new Float32Array(0)
  private bytes = new Uint8Array(0)

  constructor(state: string) {
    this.state = state
  }

  /** The floats of a row of a dimension, valid until the next call. Throws DIMENSION_MISMATCH. */
  take({ bytes, start, length }: ByteSpan, dimension: number): Float32Array {
    this.checkLength(length / 4, dimension)
    if (this.vector.length !== dimension) {
      this.vector = new Float32Array(dimension)
      this.bytes = new Uint8Array(this.vector.buffer)
    }
    copyBytes(bytes, start, this.bytes, 0, length)
    return this.vector
  }

  /** Throws DIMENSION_MISMATCH unless a row has as many floats as the others. */
  checkLength(length: number, dimension: number): void {
    if (length === dimension) return
    throw new WeirError(
      'DIMENSION_MISMATCH',
      `state "${this.state}" holds rows of ${dimension} floats, not ${length}`,
    )
  }
}
