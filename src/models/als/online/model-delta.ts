import { WeirError } from '../../../core/errors.ts'

/**
 * Whether a delta is a gradient step, which is added to the row, or the pair of the other row and the
 * rating, from which the row's owner computes the step.
 */
export type ModelDeltaKind = 'step' | 'gram'

/** Source key group of sums of deltas: transactions keep duplicates out of them. */
export const NO_SOURCE_KEY_GROUP = 0xffff

/** Phases of learning that a delta can tell apart. */
export const MOST_PHASES = 2 ** 16

const FORMAT = 3
/** The format of builds before the last float, which is 0 then. */
const FORMAT_WITHOUT_NEWNESS = 1
const KIND_BYTES: Readonly<Record<ModelDeltaKind, number>> = { step: 0, gram: 1 }
/** Bytes before the floats; a multiple of four. */
const HEADER = 20
/** The same of the formats without a tag. */
const HEADER_WITHOUT_TAG = 16
/** High words of offsets up to 2^53 are below this. */
const HIGH_WORDS = 2 ** 21

/**
 * The value of a model delta, written and read in one buffer, one delta after the other: every rating
 * has a delta, and an object for each would be garbage.
 *
 * A delta is what online learning adds to an item's row; the row's owner folds it. Deltas are in a
 * separate topic that is never compacted. The record's key is that of the row, `<id>-I@<version>`
 * (`row-key.ts`), its timestamp the event time of the rating. The value, little-endian:
 *
 *   at  size
 *    0   1   format, 3
 *    1   1   kind: 0 a gradient step, 1 a pair of row and rating
 *    2   2   source key group, u16: that of the user; 65535 for sums
 *    4   4   partition of the rating in the observations topic, u32
 *    8   8   offset of the rating, i53
 *   16   2   tag of the attempt that sent it (`InFlightLimit`), u16; 0 where it has none
 *   18   2   phase of learning that the rating belongs to (`LearningPhase`), u16
 *   20   4n  n float32: for kind 0 as many as the row has, for kind 1 one more, and last how much of a
 *            newcomer the user is, 0 to 1; of sums, the sum (`newcomers.ts`)
 *
 * Format 2 has no tag, and its floats begin at 16. Format 1 has neither that nor such a last float. What is missing is
 * read as 0.
 *
 * Within a partition of the deltas topic, deltas of one source key group and rating partition keep the
 * order of their ratings. So a delta at or below the highest offset seen is a duplicate.
 */
export class ModelDeltaBuffer {
  /** The bytes of the value; they share memory with `values`. */
  readonly bytes: Uint8Array
  /** The floats of the value. */
  readonly values: Float32Array
  private readonly view: DataView
  private readonly kindByte: number
  /** The array that was read last, and its view. */
  private source: Uint8Array
  private sourceView: DataView

  /** For deltas of `length` floats. */
  constructor(kind: ModelDeltaKind, length: number) {
    const buffer = new ArrayBuffer(HEADER + 4 * length)
    this.bytes = new Uint8Array(buffer)
    this.values = new Float32Array(buffer, HEADER, length)
    this.view = new DataView(buffer)
    this.kindByte = KIND_BYTES[kind]
    this.bytes[0] = FORMAT
    this.bytes[1] = this.kindByte
    this.source = this.bytes
    this.sourceView = this.view
  }

  /** Floats of the buffer that reads a value of `length` bytes at `start`; 0 for one that no buffer reads. */
  static floatsOf(bytes: Uint8Array, start: number, length: number): number {
    const format = bytes[start]!
    const header = format === FORMAT ? HEADER : HEADER_WITHOUT_TAG
    const floats = (length - header) / 4 + (format === FORMAT_WITHOUT_NEWNESS ? 1 : 0)
    return Number.isInteger(floats) && floats > 0 ? floats : 0
  }

  /** Key group of the user whose rating the delta comes from. */
  get sourceKeyGroup(): number {
    return this.view.getUint16(2, true)
  }

  /** Partition of the rating. */
  get partition(): number {
    return this.view.getUint32(4, true)
  }

  /** Offset of the rating. */
  get offset(): number {
    return offsetIn(this.view)
  }

  /** Tag of the attempt in whose count of ratings in flight the rating is, 1 to 65,535; 0 where that is not known. */
  get attemptTag(): number {
    return this.view.getUint16(16, true)
  }

  /** Phase of learning that the rating belongs to, modulo `MOST_PHASES`; 0 in those of earlier builds. */
  get phase(): number {
    return this.view.getUint16(18, true)
  }

  set phase(phase: number) {
    this.view.setUint16(18, phase, true)
  }

  /** Sets the rating that the values come from, and the tag of the attempt that learned it. */
  setOrigin(
    sourceKeyGroup: number,
    partition: number,
    offset: number,
    attemptTag: number = 0,
  ): void {
    this.view.setUint16(16, attemptTag, true)
    this.view.setUint16(2, sourceKeyGroup, true)
    this.view.setUint32(4, partition, true)
    this.view.setUint32(8, offset >>> 0, true)
    this.view.setUint32(12, Math.floor(offset / 2 ** 32), true)
  }

  /**
   * Copies a value from `bytes[start .. start + length)`. Throws UNPARSABLE_RECORD where it has another
   * format, kind or length, or holds a float that is not finite: that would make the row NaN forever.
   */
  load(bytes: Uint8Array, start: number, length: number): void {
    const format = bytes[start]!
    const floats = this.values.length - (format === FORMAT_WITHOUT_NEWNESS ? 1 : 0)
    const header = format === FORMAT ? HEADER : HEADER_WITHOUT_TAG
    const isFormat = format >= FORMAT_WITHOUT_NEWNESS && format <= FORMAT
    const isOfRule = isFormat && bytes[start + 1] === this.kindByte
    if (length !== header + 4 * floats || !isOfRule) {
      throw new WeirError(
        'UNPARSABLE_RECORD',
        `a delta of ${length} bytes is not of the rule in use; see docs/reference/model-topic.md`,
      )
    }
    for (let i = 2; i < header; i++) this.bytes[i] = bytes[start + i]!
    if (header < HEADER) this.bytes.fill(0, header, HEADER)
    if (this.view.getUint32(12, true) >= HIGH_WORDS) {
      throw new WeirError('UNPARSABLE_RECORD', 'a model delta has an offset above 2^53')
    }
    this.values[this.values.length - 1] = 0
    if (this.loadFloats(this.viewOf(bytes), start + header, floats)) return
    throw new WeirError('UNPARSABLE_RECORD', 'a model delta holds a value that is not finite')
  }

  /** The view of an array; many deltas are read from the same one. */
  private viewOf(bytes: Uint8Array): DataView {
    if (bytes !== this.source) {
      this.source = bytes
      this.sourceView = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    }
    return this.sourceView
  }

  /** Copies `count` floats at `start`, of any alignment, in one pass; false unless all are finite. */
  private loadFloats(view: DataView, start: number, count: number): boolean {
    const { values } = this
    const even = count & ~1
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
    if (even < count) {
      values[even] = view.getFloat32(start + 4 * even, true)
      a += values[even]! * 0
    }
    return a + b === 0
  }
}

/** Partition and offset of the rating that a delta comes from. */
export interface DeltaOrigin {
  readonly partition: number
  readonly offset: number
}

/** The origin of a delta of any rule, from its value in `bytes`; undefined for a sum, and for what is no delta. */
export function originOfDelta(
  bytes: Uint8Array,
  start: number,
  length: number,
): DeltaOrigin | undefined {
  if (length < HEADER_WITHOUT_TAG) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset + start, HEADER_WITHOUT_TAG)
  if (view.getUint16(2, true) === NO_SOURCE_KEY_GROUP) return undefined
  return { partition: view.getUint32(4, true), offset: offsetIn(view) }
}

function offsetIn(view: DataView): number {
  return view.getUint32(12, true) * 2 ** 32 + view.getUint32(8, true)
}
