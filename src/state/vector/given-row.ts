import type { ByteSpan } from '../../core/byte-span.ts'
import { copyBytes } from '../../core/copy-bytes.ts'
import { WeirError } from '../../core/errors.ts'
import type { VectorStateDescriptor } from '../port/descriptors.ts'

/** Aligned floats of a row that comes as bytes: one buffer, which each row overwrites. */
export class GivenRow {
  private readonly descriptor: VectorStateDescriptor
  private readonly vector: Float32Array
  private readonly bytes: Uint8Array

  constructor(descriptor: VectorStateDescriptor) {
    this.descriptor = descriptor
    this.vector = new Float32Array(descriptor.dimension)
    this.bytes = new Uint8Array(this.vector.buffer)
  }

  /** The floats, valid until the next call. Throws DIMENSION_MISMATCH. */
  take({ bytes, start, length }: ByteSpan): Float32Array {
    this.checkLength(length / 4)
    copyBytes(bytes, start, this.bytes, 0, length)
    return this.vector
  }

  /** Throws DIMENSION_MISMATCH unless a row has this many floats. */
  checkLength(length: number): void {
    const { name, dimension } = this.descriptor
    if (length === dimension) return
    throw new WeirError(
      'DIMENSION_MISMATCH',
      `state "${name}" holds rows of ${dimension} floats, not ${length}`,
    )
  }
}
