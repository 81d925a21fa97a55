import { requireArgument, WeirError } from '../core/errors.ts'
import { BIAS_FEATURE, mergedFeatures } from '../core/feature.ts'
import type { FrameWriter } from './frame-writer.ts'
import type { SparseVector } from './model-reader.ts'
import { MAX_FEATURES, type RequestCursor } from './request.ts'

/**
 * A packed sparse vector of a SPARSE_DOT frame with the packed flag:
 *
 *   +-----------+-------------------+------------+------------------------------------------+
 *   | n varuint | n x value float32 | id varuint | (n - 1) x (id - id before it - 1) varuint|
 *   +-----------+-------------------+------------+------------------------------------------+
 *
 * Ids rise by construction. A varuint is LEB128, at most 5 bytes.
 */

/** Most bytes of a varuint. */
const VARUINT_BYTES = 5

/** What `writeIds` returns where an id does not rise. */
const NOT_RISING = -1

/**
 * Appends a packed vector, followed by the constant feature with value 1 if `withBias`. Ids that come in any
 * order are sorted, and values of an id that comes again are added up. Throws INVALID_ARGUMENT when lengths
 * differ, or the vector and `withBias` both have the constant feature; the writer then keeps the part written
 * so far.
 */
export function writeSparseVector(
  writer: FrameWriter,
  vector: SparseVector,
  withBias: boolean,
): void {
  const start = writer.length
  if (writeRising(writer, vector, withBias)) return
  writer.length = start
  writeRising(writer, mergedFeatures(vector), withBias)
}

/**
 * Appends a vector whose ids rise; false where they do not. Whether they rise is found while they are written: a
 * pass of its own was 6 % of the processor time of a client.
 */
function writeRising(
  writer: FrameWriter,
  { ids, values }: SparseVector,
  withBias: boolean,
): boolean {
  const count = ids.length
  const total = withBias ? count + 1 : count
  requireArgument(
    values.length === count && total <= MAX_FEATURES,
    `a sparse vector has as many ids as values and at most ${MAX_FEATURES}`,
  )
  writer.reserve((total + 1) * VARUINT_BYTES + total * 4)
  writer.varuint(total)
  writer.floats(values)
  if (withBias) writer.float32(1)
  const end = writeIds(writer.bytes, writer.length, ids)
  if (end === NOT_RISING) return false
  const from = count === 0 ? 0 : ids[count - 1]! + 1
  requireArgument(
    !withBias || from <= BIAS_FEATURE,
    'a vector that holds the constant feature gets no second one',
  )
  writer.length = end
  if (withBias) writer.varuint(BIAS_FEATURE - from)
  return true
}

/** Writes the gaps between ids from `start` on and returns their end; NOT_RISING where an id does not rise. */
function writeIds(bytes: Uint8Array, start: number, ids: Uint32Array): number {
  let at = start
  let last = 0
  for (let k = 0; k < ids.length; k++) {
    const id = ids[k]!
    // uint32 arithmetic throughout: several times as fast as floating point.
    let gap = id
    if (k > 0) {
      if (id <= last) return NOT_RISING
      gap = (id - last - 1) >>> 0
    }
    last = id
    while (gap > 0x7f) {
      bytes[at++] = (gap & 0x7f) | 0x80
      gap >>>= 7
    }
    bytes[at++] = gap
  }
  return at
}

/** A vector read from a frame, in buffers that the next vector overwrites. */
export class UnpackedVector {
  ids = new Uint32Array(256)
  values = new Float32Array(256)
  count = 0
  /** Whether all values are finite. */
  isFinite = true
  private valueBytes = new Uint8Array(this.values.buffer)

  /** Reads the next packed vector of a frame. Throws PROTOCOL_ERROR. */
  read(cursor: RequestCursor): void {
    const count = this.varuint(cursor)
    if (count > MAX_FEATURES || count * 5 > cursor.remaining) {
      throw malformed(`${count} features do not fit the rest of its frame`)
    }
    this.makeRoom(count)
    this.count = count
    const valuesAt = cursor.take(count * 4)
    this.valueBytes.set(cursor.bytes.subarray(valuesAt, valuesAt + count * 4))
    this.isFinite = this.allFinite(count)
    this.readIds(cursor, count)
  }

  /** A number that is not finite, times zero, is NaN, and so is every sum with it. */
  private allFinite(count: number): boolean {
    const { values } = this
    let even = 0
    let odd = 0
    for (let k = 1; k < count; k += 2) {
      even += values[k - 1]! * 0
      odd += values[k]! * 0
    }
    if (count % 2 === 1) even += values[count - 1]! * 0
    return even + odd === 0
  }

  private readIds(cursor: RequestCursor, count: number): void {
    const { bytes, end } = cursor
    const ids = this.ids
    let at = cursor.at
    // uint32 arithmetic throughout: several times as fast as floating point.
    let last = 0
    for (let k = 0; k < count; k++) {
      let byte = bytes[at++]!
      let gap = byte
      if (byte > 0x7f) {
        gap &= 0x7f
        for (let shift = 7; byte > 0x7f; shift += 7) {
          byte = bytes[at++]!
          if (shift > 21 && byte > 0x0f) throw malformed('a feature id has more than 32 bits')
          gap |= (byte & 0x7f) << shift
        }
      }
      const id = (last + gap + (k > 0 ? 1 : 0)) >>> 0
      // A byte beyond the frame's end is undefined, or belongs to the next frame.
      if (at > end || (id <= last && k > 0)) throw malformed('a feature id is cut off or too large')
      ids[k] = id
      last = id
    }
    cursor.at = at
  }

  private varuint(cursor: RequestCursor): number {
    let value = 0
    for (let scale = 1; scale <= 0x10000000; scale *= 0x80) {
      const byte = cursor.bytes[cursor.take(1)]!
      value += (byte & 0x7f) * scale
      if (byte <= 0x7f) return value
    }
    throw malformed('a count of features has more than 32 bits')
  }

  private makeRoom(count: number): void {
    if (this.ids.length >= count) return
    const capacity = Math.max(count, this.ids.length * 2)
    this.ids = new Uint32Array(capacity)
    this.values = new Float32Array(capacity)
    this.valueBytes = new Uint8Array(this.values.buffer)
  }

  /** A copy that is not overwritten. */
  copy(): SparseVector {
    return { ids: this.ids.slice(0, this.count), values: this.values.slice(0, this.count) }
  }
}

/** The vector followed by the constant feature with value 1. */
export function withBiasFeature({ ids, values }: SparseVector): SparseVector {
  const longerIds = new Uint32Array(ids.length + 1)
  longerIds.set(ids)
  longerIds[ids.length] = BIAS_FEATURE
  const longerValues = new Float32Array(ids.length + 1)
  longerValues.set(values)
  longerValues[ids.length] = 1
  return { ids: longerIds, values: longerValues }
}

function malformed(why: string): WeirError {
  return new WeirError('PROTOCOL_ERROR', `a packed sparse vector is malformed: ${why}`)
}
