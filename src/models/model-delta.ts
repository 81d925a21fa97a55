import { requireArgument, WeirError } from '../core/errors.ts'

/**
 * A delta of an item's row: what online learning adds to it, folded by the row's owner. Deltas lie in
 * a topic of their own that is never compacted. The record's key is the row's, `<id>-I@<version>`
 * (`als-row.ts`), its timestamp the event time of the rating. The value, little-endian:
 *
 *   at  size
 *    0   1   format, 1
 *    1   1   kind: 0 a gradient step, 1 the pair (z, y) of the running-Gram rule
 *    2   2   lane, u16: key group of the user; 65535 where no duplicate can be
 *    4   4   partition of the rating in the observations topic, u32
 *    8   8   offset of the rating, i53
 *   16   4n  n float32 that are added: of kind 0 as many as the row has
 *
 * Within a delta partition, deltas of one lane and rating partition keep the order of their ratings,
 * so that one at or below the highest offset seen came twice and is dropped.
 */
export type ModelDeltaKind = 'step' | 'gram'

/** Bytes before the floats; a multiple of four. */
export const MODEL_DELTA_HEADER = 16

const FORMAT = 1
const KINDS: readonly ModelDeltaKind[] = ['step', 'gram']
const SUFFIX = '-deltas'

/** A delta taken apart. */
export interface ModelDelta {
  readonly kind: ModelDeltaKind
  /** Key group of the user. */
  readonly lane: number
  /** Where the rating stands in the observations topic. */
  readonly partition: number
  readonly offset: number
  readonly values: Float32Array
}

/** The topic of a model's deltas: that of its rows, followed by `-deltas`. */
export function deltasTopic(rowsTopic: string): string {
  return `${rowsTopic}${SUFFIX}`
}

/** Bytes of a delta with `count` floats. */
export function modelDeltaSize(count: number): number {
  return MODEL_DELTA_HEADER + count * 4
}

/** Value bytes of a delta. */
export function encodeModelDelta(delta: ModelDelta): Uint8Array {
  const bytes = new Uint8Array(modelDeltaSize(delta.values.length))
  writeModelDelta(bytes, delta)
  return bytes
}

/**
 * Writes a delta into the first `modelDeltaSize` bytes of `target`, so that a writer can use one
 * buffer again and again. Throws INVALID_ARGUMENT when partition or offset are out of range.
 */
export function writeModelDelta(target: Uint8Array, delta: ModelDelta): void {
  const { kind, lane, partition, offset, values } = delta
  requireArgument(Number.isInteger(lane) && lane >= 0 && lane < 2 ** 16, `${lane} is no lane`)
  requireArgument(
    Number.isInteger(partition) && partition >= 0 && partition < 2 ** 31,
    `${partition} is no partition`,
  )
  requireArgument(Number.isSafeInteger(offset) && offset >= 0, `${offset} is no offset`)
  const view = new DataView(target.buffer, target.byteOffset, target.byteLength)
  view.setUint8(0, FORMAT)
  view.setUint8(1, KINDS.indexOf(kind))
  view.setUint16(2, lane, true)
  view.setUint32(4, partition, true)
  view.setUint32(8, offset >>> 0, true)
  view.setUint32(12, Math.floor(offset / 2 ** 32), true)
  for (let i = 0; i < values.length; i++) {
    view.setFloat32(MODEL_DELTA_HEADER + i * 4, values[i] as number, true)
  }
}

/**
 * Reads a delta; `into`, where its length fits, takes the floats and is the `values` of the result.
 * Throws UNPARSABLE_RECORD for other formats and lengths, and floats that are not finite: one would
 * make the row NaN for ever.
 */
export function decodeModelDelta(bytes: Uint8Array, into?: Float32Array): ModelDelta {
  const count = (bytes.length - MODEL_DELTA_HEADER) / 4
  if (!Number.isInteger(count) || count < 1) throw unparsable(`has ${bytes.length} bytes`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const kind = KINDS[view.getUint8(1)]
  if (view.getUint8(0) !== FORMAT) throw unparsable(`is of format ${view.getUint8(0)}`)
  if (kind === undefined) throw unparsable(`is of kind ${view.getUint8(1)}`)
  const offset = view.getUint32(12, true) * 2 ** 32 + view.getUint32(8, true)
  if (!Number.isSafeInteger(offset)) throw unparsable('has an offset above 2^53')
  const values = into?.length === count ? into : new Float32Array(count)
  let sum = 0
  for (let i = 0; i < count; i++) {
    const value = view.getFloat32(MODEL_DELTA_HEADER + i * 4, true)
    values[i] = value
    // NaN where any value is not finite, else 0: one check after the loop.
    sum += value * 0
  }
  if (sum !== 0) throw unparsable('holds a value that is not finite')
  const lane = view.getUint16(2, true)
  return { kind, lane, partition: view.getUint32(4, true), offset, values }
}

function unparsable(problem: string): WeirError {
  return new WeirError(
    'UNPARSABLE_RECORD',
    `a model delta ${problem}; see docs/reference/model-topic.md`,
  )
}
