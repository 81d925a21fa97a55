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
  /** What was read last. */
  private source: Uint8Array
  private sourceView: DataView

  /** For deltas of `length` floats. */
  constructor(kind: 'step' | 'gram', length: number) {
    const buffer = new ArrayBuffer(MODEL_DELTA_HEADER + 4 * length)
    this.bytes = new Uint8Array(buffer)
    this.values = new Float32Array(buffer, MODEL_DELTA_HEADER, length)
    this.view = new DataView(buffer)
    this.kindByte = kind === 'step' ? 0 : 1
    this.bytes[0] = 1
    this.bytes[1] = this.kindByte
    this.source = this.bytes
    this.sourceView = this.view
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
    for (let i = 2; i < MODEL_DELTA_HEADER; i++) this.bytes[i] = bytes[start + i]!
    if (this.loadFloats(this.viewOf(bytes), start + MODEL_DELTA_HEADER)) return
    throw new WeirError('UNPARSABLE_RECORD', 'a model delta holds a value that is not finite')
  }

  /** Many deltas lie in the same bytes. */
  private viewOf(bytes: Uint8Array): DataView {
    if (bytes !== this.source) {
      this.source = bytes
      this.sourceView = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    }
    return this.sourceView
  }

  /** Takes the floats at `start`, which may lie at any place, in one pass; false unless all are finite. */
  private loadFloats(view: DataView, start: number): boolean {
    const { values } = this
    const even = values.length & ~1
    // Two sums, so that one addition need not wait for the one before; NaN where a float is not finite.
    let a = 0
    let b = 0
    for (let i = 0; i < even; i += 2) {
      const first = view.getFloat32(start + 4 * i, true)
      const second = view.getFloat32(start + 4 * i + 4, true)
      values[i] = first
      values[i + 1] = second
      a += first * 0
      b += second * 0
    }
    if (even < values.length) {
      values[even] = view.getFloat32(start + 4 * even, true)
      a += values[even]! * 0
    }
    return a + b === 0
  }
}
