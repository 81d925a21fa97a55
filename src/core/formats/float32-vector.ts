import { requireArgument, WeirError } from '../errors.ts'
import { allFinite } from '../numbers/all-finite.ts'
import { flag, wholeNumber } from '../options/kinds.ts'
import { checkOptions, type OptionShape } from '../options/shape.ts'
import type { Serializer } from '../serializer.ts'

/** Options of `float32VectorFormat`. */
export interface Float32VectorFormatOptions {
  /** Floats of a vector; default any number, also none. */
  readonly dimension?: number
  /** Whether NaN and infinities are taken; default false. */
  readonly allowNonFinite?: boolean
  /**
   * Reuse one vector for all records instead of creating one each: for receivers that copy it within
   * the call, as a vector state does. Needs `dimension`. Default false.
   */
  readonly reuse?: boolean
}

const FLOAT32_VECTOR: OptionShape<Float32VectorFormatOptions> = {
  dimension: wholeNumber({ min: 0 }),
  allowNonFinite: flag,
  reuse: flag,
}

/** A vector as its float32 bytes, little-endian, nothing else. */
export function float32VectorFormat(
  options: Float32VectorFormatOptions = {},
): Serializer<Float32Array> {
  checkOptions('float32VectorFormat', FLOAT32_VECTOR, options)
  const { dimension, allowNonFinite = false, reuse = false } = options
  requireArgument(!reuse || dimension !== undefined, 'reuse needs the dimension')
  const shared = reuse ? new Float32Array(dimension!) : undefined
  return {
    id: 'float32-vector/1',
    write(vector, writer) {
      if (dimension !== undefined && vector.length !== dimension) {
        throw new WeirError(
          'INVALID_ARGUMENT',
          `a vector of ${vector.length} floats where ${dimension} are written`,
        )
      }
      requireArgument(allowNonFinite || allFinite(vector), 'a vector with NaN or infinity')
      writer.raw(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength))
    },
    read(reader) {
      const bytes = reader.raw(reader.remaining)
      const count = bytes.length / 4
      if (!Number.isInteger(count) || (dimension !== undefined && count !== dimension)) {
        const expected = dimension === undefined ? 'whole float32' : `${dimension} float32`
        throw refused(`${bytes.length} bytes where ${expected} were expected`)
      }
      const vector = shared ?? new Float32Array(count)
      new Uint8Array(vector.buffer).set(bytes)
      if (!allowNonFinite && !allFinite(vector)) throw refused('an element is not finite')
      return vector
    },
  }
}

function refused(problem: string): WeirError {
  return new WeirError('UNPARSABLE_RECORD', `not a vector: ${problem}`)
}
