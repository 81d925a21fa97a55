const SIZE_BYTES = 4
/** Bytes before the sizes of regions, where a row is stored: the newest event time and the time of the timer. */
export const TIMES_BYTES = 16
/** Spare bytes of a row that has grown: a quarter of it, at least these. */
const LEAST_SPARE = 32
const FIRST_SCRATCH = 1 << 14

/** Bytes of a stored row of so many features before its first region. */
export const headerBytes = (features: number): number => TIMES_BYTES + features * SIZE_BYTES

/**
 * The features of one key: the size of each region (uint32), and the regions, one for each feature, one behind the other,
 * as bytes. Numbers are little-endian. What is within a region is up to its feature. It changes within an `OpenRow`.
 */
export class FeatureRow {
  /** The newest event time, ms; -Infinity without events. */
  newest: number
  /** The time of the timer of the key, ms of event time; -Infinity without one. */
  timer: number
  /** The bytes, of which the first `length` are used. */
  bytes: Uint8Array
  length: number

  constructor(
    bytes: Uint8Array,
    { newest, timer }: { readonly newest: number; readonly timer: number },
  ) {
    this.newest = newest
    this.timer = timer
    this.bytes = bytes
    this.length = bytes.length
  }

  /** A row without events. */
  static empty(features: number): FeatureRow {
    const never = Number.NEGATIVE_INFINITY
    return new FeatureRow(new Uint8Array(features * SIZE_BYTES), { newest: never, timer: never })
  }

  /** The used bytes, not a copy. */
  get used(): Uint8Array {
    return this.bytes.subarray(0, this.length)
  }
}

/** The one row that is worked on, in memory that stays, so that no record needs arrays of its own. */
export class OpenRow {
  /** The newest event time of the row, ms. */
  newest = Number.NEGATIVE_INFINITY
  /** The bytes, of which the first `length` are used. */
  bytes = new Uint8Array(FIRST_SCRATCH)
  view: DataView = new DataView(this.bytes.buffer)
  length = 0
  private readonly features: number

  constructor(features: number) {
    this.features = features
  }

  /** Takes the content of a row. */
  load(row: FeatureRow): void {
    this.newest = row.newest
    this.length = 0
    this.reserve(row.length)
    const { bytes, length } = row
    if (bytes.length === length) this.bytes.set(bytes)
    else this.bytes.set(bytes.subarray(0, length))
    this.length = length
  }

  /** Gives a row the content. */
  store(row: FeatureRow): void {
    const { length } = this
    row.newest = this.newest
    row.length = length
    if (length > row.bytes.length) {
      row.bytes = new Uint8Array(length + Math.max(LEAST_SPARE, length >> 2))
    }
    row.bytes.set(this.bytes.subarray(0, length))
  }

  /** Bytes of the region of a feature, 0 <= feature < number of features. */
  sizeOf(feature: number): number {
    return this.view.getUint32(feature * SIZE_BYTES, true)
  }

  /** Where the region of a feature begins. */
  startOf(feature: number): number {
    let at = this.features * SIZE_BYTES
    for (let before = 0; before < feature; before++) at += this.sizeOf(before)
    return at
  }

  /** Makes room of so many bytes in the region of a feature, before byte `at` of the row. They may hold anything. */
  insert(feature: number, at: number, count: number): void {
    this.reserve(count)
    this.bytes.copyWithin(at + count, at, this.length)
    this.length += count
    this.resize(feature, count)
  }

  /** Takes so many bytes from the region of a feature, from byte `at` of the row on. */
  remove(feature: number, at: number, count: number): void {
    this.bytes.copyWithin(at, at + count, this.length)
    this.length -= count
    this.resize(feature, -count)
  }

  private resize(feature: number, by: number): void {
    this.view.setUint32(feature * SIZE_BYTES, this.sizeOf(feature) + by, true)
  }

  private reserve(count: number): void {
    const needed = this.length + count
    if (needed <= this.bytes.length) return
    const grown = new Uint8Array(needed * 2)
    grown.set(this.bytes.subarray(0, this.length))
    this.bytes = grown
    this.view = new DataView(grown.buffer)
  }
}
