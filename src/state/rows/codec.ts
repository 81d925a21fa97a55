import { WeirError } from '../../core/errors.ts'
import { placeOf } from '../../core/position.ts'
import type { VectorRow, WriteOrigin } from '../port/handles.ts'

/**
 * A row as bytes: in segments, in the store and in slot query replies. Little-endian.
 *
 *   0        1         2          4                8             12
 *   +--------+---------+----------+----------------+-------------+----------------+
 *   | version| flags   | images   | update count   | partition   | write epoch    |
 *   | u8     | u8      | u16      | u32            | i32         | i32            |
 *   +--------+---------+----------+----------------+-------------+----------------+
 *   16                   24                    32
 *   +--------------------+---------------------+----------------------------------+
 *   | offset  f64        | event time  f64     | dimension x f32                  |
 *   +--------------------+---------------------+----------------------------------+
 *
 * flags: 1 = the row is deleted (only in the store). `images` > 0 only in the store: that many older
 * images follow, newest first, each in the same form (images = 0) preceded by its `through` as i32 and
 * four zero bytes. No checksum: segments and frames that carry rows have one.
 */
export const VECTOR_ROW_VERSION = 1
export const VECTOR_ROW_HEADER_BYTES = 32
export const VECTOR_ROW_DELETED = 1
/** Places of fields in an encoded row. */
export const VECTOR_ROW_UPDATE_COUNT_AT = 4
export const VECTOR_ROW_PARTITION_AT = 8
export const VECTOR_ROW_OFFSET_AT = 16
export const VECTOR_ROW_EVENT_TIME_AT = 24
/** Bytes between a row and the image that follows it. */
export const VECTOR_IMAGE_PREFIX_BYTES = 8

/** Bytes of an encoded row without images. */
export function vectorRowBytes(dimension: number): number {
  return VECTOR_ROW_HEADER_BYTES + 4 * dimension
}

/** Encodes a row that is not in a table. */
export function encodeVectorRow(
  vector: Float32Array,
  origin: WriteOrigin,
  updateCount: number,
): Uint8Array {
  const bytes = new Uint8Array(vectorRowBytes(vector.length))
  const view = new DataView(bytes.buffer)
  view.setUint8(0, VECTOR_ROW_VERSION)
  view.setUint32(4, updateCount, true)
  view.setInt32(8, placeOf(origin.source ?? 0, origin.partition), true)
  view.setFloat64(16, origin.offset, true)
  view.setFloat64(24, origin.eventTime, true)
  for (let i = 0; i < vector.length; i++) {
    view.setFloat32(VECTOR_ROW_HEADER_BYTES + 4 * i, vector[i]!, true)
  }
  return bytes
}

/** Throws UNSUPPORTED_VERSION or MALFORMED_DATA unless `value` starts with a row of the dimension. */
export function checkVectorRow(value: Uint8Array, dimension: number): void {
  checkVectorRowAt(value, 0, value.length, dimension)
}

/** As `checkVectorRow`, of the `length` bytes from `at`. */
export function checkVectorRowAt(
  bytes: Uint8Array,
  at: number,
  length: number,
  dimension: number,
): void {
  if (length > 0 && bytes[at] !== VECTOR_ROW_VERSION) {
    throw new WeirError(
      'UNSUPPORTED_VERSION',
      `vector row format ${bytes[at]} is not known; this build reads ${VECTOR_ROW_VERSION}`,
    )
  }
  if (length < vectorRowBytes(dimension)) {
    throw new WeirError(
      'MALFORMED_DATA',
      `a row of ${dimension} floats takes ${vectorRowBytes(dimension)} bytes, not ${length}`,
    )
  }
}

/** The floats of an encoded row, [dimension], which the caller owns. Throws as `checkVectorRow`. */
export function decodeVectorFloats(value: Uint8Array, dimension: number): Float32Array {
  checkVectorRow(value, dimension)
  return new Float32Array(value.slice(VECTOR_ROW_HEADER_BYTES, vectorRowBytes(dimension)).buffer)
}

/** The floats of an encoded row as bytes, little-endian: a view. Throws as `checkVectorRow`. */
export function vectorFloatBytes(value: Uint8Array, dimension: number): Uint8Array {
  checkVectorRow(value, dimension)
  return value.subarray(VECTOR_ROW_HEADER_BYTES, vectorRowBytes(dimension))
}

/** An encoded row as an object that the caller owns. Throws as `checkVectorRow`. */
export function decodeVectorRow(value: Uint8Array, dimension: number): VectorRow {
  const vector = decodeVectorFloats(value, dimension)
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength)
  return {
    vector,
    updateCount: view.getUint32(4, true),
    partition: view.getInt32(8, true),
    offset: view.getFloat64(16, true),
    eventTime: view.getFloat64(24, true),
  }
}
