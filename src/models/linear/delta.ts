import { WeirError } from '../../core/errors.ts'

/**
 * A delta of a linear model in its deltas topic: one observation with the derivative of its loss. The
 * owners of the blocks compute the steps from it. Little-endian:
 *
 *   at  size
 *    0   1   format, 2
 *    1   1   phase of learning that the observation belongs to, modulo 256
 *    2   2   tag of the attempt that sent it, u16; 0 from an earlier build
 *    4   4   version of the model, u32
 *    8   4   partition of the observation, u32
 *   12   8   offset of the observation, f64
 *   20   4   derivative of the loss by the decision value, f32
 *   24   4   rate of the steps, f32
 *   28   4n  n values, f32
 *   28+4n 4n feature ids, u32, ascending
 */
export interface LinearDelta {
  /** Of the attempt whose count of examples in flight it is in, 1 to 65,535. @default 0, which is that of none */
  readonly attemptTag?: number
  /** Phase of learning that the observation belongs to (`LearningPhase`), modulo 256. @default 0 */
  readonly phase?: number
  readonly version: number
  readonly partition: number
  readonly offset: number
  readonly derivative: number
  readonly rate: number
  readonly ids: Uint32Array
  readonly values: Float32Array
}

const HEADER = 28
const FORMAT = 2
/** Phases of learning that a delta distinguishes. */
export const LINEAR_PHASES = 256

/** The value of a delta. */
export function encodeLinearDelta(delta: LinearDelta): Uint8Array {
  const { ids, values } = delta
  const count = ids.length
  const bytes = new Uint8Array(HEADER + 8 * count)
  const view = new DataView(bytes.buffer)
  view.setUint8(0, FORMAT)
  view.setUint8(1, (delta.phase ?? 0) % LINEAR_PHASES)
  view.setUint16(2, delta.attemptTag ?? 0, true)
  view.setUint32(4, delta.version, true)
  view.setUint32(8, delta.partition, true)
  view.setFloat64(12, delta.offset, true)
  view.setFloat32(20, delta.derivative, true)
  view.setFloat32(24, delta.rate, true)
  for (let k = 0; k < count; k++) {
    view.setFloat32(HEADER + 4 * k, values[k]!, true)
    view.setUint32(HEADER + 4 * (count + k), ids[k]!, true)
  }
  return bytes
}

/** Reads a delta. Throws UNPARSABLE_RECORD for another format or length, and for values that are not finite. */
export function decodeLinearDelta(bytes: Uint8Array): LinearDelta {
  const count = (bytes.length - HEADER) / 8
  if (!Number.isInteger(count) || count < 0 || bytes[0] !== FORMAT) {
    throw unparsable(`of ${bytes.length} bytes and format ${bytes[0]}`)
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const ids = new Uint32Array(count)
  const values = new Float32Array(count)
  let sum = view.getFloat32(20, true) * 0 + view.getFloat32(24, true) * 0
  for (let k = 0; k < count; k++) {
    values[k] = view.getFloat32(HEADER + 4 * k, true)
    ids[k] = view.getUint32(HEADER + 4 * (count + k), true)
    // NaN where any value is not finite, else 0.
    sum += values[k]! * 0
    if (k > 0 && ids[k]! <= ids[k - 1]!) throw unparsable('whose ids are not ascending')
  }
  if (sum !== 0) throw unparsable('with a number that is not finite')
  return {
    attemptTag: attemptTagOf(bytes),
    phase: bytes[1] ?? 0,
    version: view.getUint32(4, true),
    partition: view.getUint32(8, true),
    offset: view.getFloat64(12, true),
    derivative: view.getFloat32(20, true),
    rate: view.getFloat32(24, true),
    ids,
    values,
  }
}

/** The tag of a delta, also of one whose other fields are not those of a delta. */
export function attemptTagOf(bytes: Uint8Array): number {
  return (bytes[2] ?? 0) | ((bytes[3] ?? 0) << 8)
}

function unparsable(what: string): WeirError {
  return new WeirError('UNPARSABLE_RECORD', `a linear delta ${what} cannot be read by this build`)
}
