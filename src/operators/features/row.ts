const NEWEST = 0
const TIMER = 8
const SIZES = 16
const SIZE_BYTES = 4

/** Bytes of a row before its first region, for so many features. */
export const headerBytes = (features: number): number => SIZES + features * SIZE_BYTES

/**
 * The features of one key as bytes: the newest event time, the time of its timer, the size of each region, and the
 * regions, one for each feature, one behind the other. Numbers are little-endian. What is within a region is up to its
 * feature.
 */
export class FeatureRow {
  /** The bytes, of which the first `length` are used. */
  view: DataView
  length: number
  private readonly features: number

  constructor(bytes: Uint8Array, length: number, features: number) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.length = length
    this.features = features
  }

  /** A row without events. */
  static empty(features: number): FeatureRow {
    const length = headerBytes(features)
    const row = new FeatureRow(new Uint8Array(length + 64), length, features)
    row.newest = Number.NEGATIVE_INFINITY
    row.timer = Number.NEGATIVE_INFINITY
    return row
  }

  /** The used bytes, not a copy. */
  get bytes(): Uint8Array {
    return new Uint8Array(this.view.buffer, this.view.byteOffset, this.length)
  }

  /** The newest event time, ms; -Infinity without events. */
  get newest(): number {
    return this.view.getFloat64(NEWEST, true)
  }

  set newest(time: number) {
    this.view.setFloat64(NEWEST, time, true)
  }

  /** The time of the timer of the key, ms of event time; -Infinity without one. */
  get timer(): number {
    return this.view.getFloat64(TIMER, true)
  }

  set timer(time: number) {
    this.view.setFloat64(TIMER, time, true)
  }

  /** Bytes of the region of a feature, 0 <= feature < number of features. */
  sizeOf(feature: number): number {
    return this.view.getUint32(SIZES + feature * SIZE_BYTES, true)
  }

  /** Where the region of a feature begins. */
  startOf(feature: number): number {
    let at = headerBytes(this.features)
    for (let before = 0; before < feature; before++) at += this.sizeOf(before)
    return at
  }

  /** Makes room of so many bytes in the region of a feature, before byte `at` of the row. They may hold anything. */
  insert(feature: number, at: number, count: number): void {
    const length = this.length + count
    if (length > this.view.byteLength) this.grow(length)
    const bytes = new Uint8Array(this.view.buffer, this.view.byteOffset, length)
    bytes.copyWithin(at + count, at, this.length)
    this.length = length
    this.resize(feature, count)
  }

  /** Takes so many bytes from the region of a feature, from byte `at` of the row on. */
  remove(feature: number, at: number, count: number): void {
    this.bytes.copyWithin(at, at + count)
    this.length -= count
    this.resize(feature, -count)
  }

  private resize(feature: number, by: number): void {
    this.view.setUint32(SIZES + feature * SIZE_BYTES, this.sizeOf(feature) + by, true)
  }

  private grow(length: number): void {
    const grown = new Uint8Array(Math.max(length, Math.ceil(this.view.byteLength * 1.5)))
    grown.set(this.bytes)
    this.view = new DataView(grown.buffer)
  }
}
