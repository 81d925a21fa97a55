import { copyBytes } from '../core/copy-bytes.ts'
import { WeirError } from '../core/errors.ts'
import { MODEL_DELTA_HEADER } from './model-delta.ts'

/** Lane of deltas that need no look for duplicates: they come in transactions. */
export const NO_LANE = 0xffff

/**
 * The value of one model delta after the other, in one buffer: `model-delta.ts` draws it. What writes
 * or reads a delta for every rating uses this instead of an object for each.
 */
export class DeltaBuffer {
  /** The value's bytes; views of each other with `values`. */
  readonly bytes: Uint8Array
  /** What is added to the row. */
  readonly values: Float32Array
  private readonly view: DataView
  private readonly kindByte: number

  /** For deltas of `length` floats. */
  constructor(kind: 'step' | 'gram', length: number) {
    const buffer = new ArrayBuffer(MODEL_DELTA_HEADER + 4 * length)
    this.bytes = new Uint8Array(buffer)
    this.values = new Float32Array(buffer, MODEL_DELTA_HEADER, length)
    this.view = new DataView(buffer)
    this.kindByte = kind === 'step' ? 0 : 1
    this.bytes[0] = 1
    this.bytes[1] = this.kindByte
  }

  get lane(): number {
    return this.view.getUint16(2, true)
  }

  get partition(): number {
    return this.view.getUint32(4, true)
  }

  get offset(): number {
    return this.view.getUint32(12, true) * 2 ** 32 + this.view.getUint32(8, true)
  }

  /** Names the rating that the values come from. */
  origin(lane: number, partition: number, offset: number): void {
    this.view.setUint16(2, lane, true)
    this.view.setUint32(4, partition, true)
    this.view.setUint32(8, offset >>> 0, true)
    this.view.setUint32(12, Math.floor(offset / 2 ** 32), true)
  }

  /** Takes a value's bytes, `bytes[start .. start + length)`. Throws UNPARSABLE_RECORD unless they are of this kind, length and finite. */
  load(bytes: Uint8Array, start: number, length: number): void {
    const isOfRule = bytes[start] === 1 && bytes[start + 1] === this.kindByte
    if (length !== this.bytes.length || !isOfRule) {
      throw new WeirError(
        'UNPARSABLE_RECORD',
        `a delta of ${length} bytes is not of the rule in use; see docs/reference/model-topic.md`,
      )
    }
    copyBytes(bytes, start, this.bytes, 0, length)
    let sum = 0
    for (let i = 0; i < this.values.length; i++) sum += this.values[i]! * 0
    if (sum === 0) return
    throw new WeirError('UNPARSABLE_RECORD', 'a model delta holds a value that is not finite')
  }
}
