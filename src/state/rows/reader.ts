import { innerProduct } from '../../core/kernels/inner-product.ts'
import { type RowProduct, rowProductOf } from '../../core/kernels/row-product.ts'
import {
  CONTROL_EVICTING,
  META_EVENT_TIME,
  META_IMAGE,
  META_OFFSET,
  META_PARTITION,
  META_THROUGH,
  META_UPDATE_COUNT,
  META_WRITE_EPOCH,
  ROW_META,
  ROW_REFERENCE,
  ROW_STATE,
  STATE_DELETED,
  STATE_IMAGE,
} from './layout.ts'
import { ATTEMPTS, RowTableLookup } from './lookup.ts'
import { sameKey } from './row-table.ts'
import { MISSING, STUCK } from './view.ts'

export { MISSING, RESTORING, SPILLED, STUCK } from './view.ts'

/** Metadata of a row, filled by `RowTableReader.metaInto`. */
export interface RowMetaTarget {
  updateCount: number
  partition: number
  offset: number
  eventTime: number
}

/**
 * Reads one row table in place, in any thread. A read is: `find` (remembers the row's sequence word
 * in `foundSequence`), use the row, `unchanged(row, sequence)`. Nothing here allocates after the
 * constructor but refreshed views when the table grew. Not for use by two threads: each opens its own.
 */
export class RowTableReader extends RowTableLookup {
  /** Kernels for rows of this table and of others. */
  private readonly products = new Map<RowTableReader, RowProduct | undefined>()

  /**
   * Sequence word at a header's address (`headerOf`), read after everything that was read before. A
   * live row whose word is as `find` found it still has the same key and content.
   */
  sequenceOf(header: number): number {
    return this.sequenceAt(header)
  }

  /** Marks rows, by their headers' addresses, as referenced where rows may have to leave memory. */
  reference(headers: Int32Array, count: number): void {
    if (this.words[CONTROL_EVICTING] === 0) return
    for (let i = 0; i < count; i++) {
      const at = headers[i]! + ROW_REFERENCE
      if (this.words[at] === 0) this.words[at] = 1
    }
  }

  /** Copies a found row, [dimension], to `target` from `at`; false if it changed since. */
  readInto(row: number, sequence: number, target: Float32Array, at: number): boolean {
    const from = this.floatsOf(row)
    const floats = this.floats
    const dimension = this.layout.dimension
    for (let i = 0; i < dimension; i++) target[at + i] = floats[from + i]!
    return this.unchanged(row, sequence)
  }

  /** Copies a found row's meta; false if it changed since. */
  metaInto(row: number, sequence: number, target: RowMetaTarget): boolean {
    const meta = this.headerOf(row) + ROW_META
    target.updateCount = this.words[meta + META_UPDATE_COUNT]!
    target.partition = this.words[meta + META_PARTITION]!
    target.offset = this.doubles[(meta + META_OFFSET) >> 1]!
    target.eventTime = this.doubles[(meta + META_EVENT_TIME) >> 1]!
    return this.unchanged(row, sequence)
  }

  /** Source partition of the last write of a found row; check with `unchanged` or `dot` afterwards. */
  partitionOf(row: number): number {
    return this.words[this.headerOf(row) + ROW_META + META_PARTITION]!
  }

  /** Source offset of the last write of a found row; check as above. */
  offsetOf(row: number): number {
    return this.doubles[(this.headerOf(row) + ROW_META + META_OFFSET) >> 1]!
  }

  /**
   * Inner product of a found row with a found row of another table (or of this one), summed in
   * float64; NaN if one of them changed since. Dimensions must be equal.
   */
  dot(
    row: number,
    sequence: number,
    other: RowTableReader,
    otherRow: number,
    otherSequence: number,
  ): number {
    const { stride } = this.layout
    const x = this.floatsOf(row)
    const y = other.floatsOf(otherRow)
    const product = this.productWith(other)
    const sum =
      product === undefined
        ? innerProduct(this.floats, x, other.floats, y, stride)
        : product(4 * x, 4 * y, stride / 4)
    if (!this.unchanged(row, sequence) || !other.unchanged(otherRow, otherSequence))
      return Number.NaN
    return sum
  }

  private productWith(other: RowTableReader): RowProduct | undefined {
    const known = this.products.get(other)
    if (known !== undefined || this.products.has(other)) return known
    const product = rowProductOf(this.share.memory, other.share.memory)
    this.products.set(other, product)
    return product
  }

  /** Inner product of a found row with a vector, [dimension]; NaN if the row changed since. */
  dotVector(row: number, sequence: number, vector: Float32Array, at: number): number {
    const sum = innerProduct(this.floats, this.floatsOf(row), vector, at, this.layout.dimension)
    return this.unchanged(row, sequence) ? sum : Number.NaN
  }

  /** One float of a found row; check with `unchanged` afterwards. */
  element(row: number, i: number): number {
    return this.floats[this.floatsOf(row) + i]!
  }

  /**
   * Copies the live row with the key, [dimension], to `target` from `at`, and its meta: the row's
   * number, or MISSING, STUCK, SPILLED, RESTORING.
   */
  readLiveInto(
    key: Uint8Array,
    start: number,
    length: number,
    hash: number,
    target: Float32Array,
    at: number,
    meta: RowMetaTarget,
  ): number {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const row = this.find(key, start, length, hash)
      if (row < 0) return row
      const sequence = this.foundSequence
      this.metaInto(row, sequence, meta)
      if (this.readInto(row, sequence, target, at)) return row
    }
    return STUCK
  }

  /**
   * As `readLiveInto`, of the row as the checkpoint has it; MISSING when the checkpoint has no such row.
   * The checkpoint must be the last completed one, or one that was triggered after it.
   */
  readAtInto(
    checkpointId: number,
    key: Uint8Array,
    start: number,
    length: number,
    hash: number,
    target: Float32Array,
    at: number,
    meta: RowMetaTarget,
  ): number {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const row = this.locate(key, start, length, hash)
      if (row < 0) return row
      const sequence = this.foundSequence
      const image = this.imageAt(row, checkpointId)
      if (image === MISSING) {
        if (this.unchanged(row, sequence)) return MISSING
        continue
      }
      if (image === STUCK) continue
      if (image !== row && !this.openImage(image, checkpointId, key, start, length)) continue
      const imageSequence = this.foundSequence
      const deleted = (this.words[this.headerOf(image) + ROW_STATE]! & STATE_DELETED) !== 0
      this.metaInto(image, imageSequence, meta)
      if (!this.readInto(image, imageSequence, target, at)) continue
      return deleted ? MISSING : row
    }
    return STUCK
  }

  /** The row or the image of it that the checkpoint sees, MISSING if none, STUCK to look again. */
  private imageAt(row: number, checkpointId: number): number {
    let meta = this.headerOf(row) + ROW_META
    if (this.words[meta + META_WRITE_EPOCH]! < checkpointId) return row
    for (let depth = 0; depth < 16; depth++) {
      const image = this.words[meta + META_IMAGE]! - 1
      if (image < 0) return MISSING
      const header = this.checkedHeaderOf(image)
      if (header < 0) return MISSING
      meta = header + ROW_META
      if (this.words[meta + META_WRITE_EPOCH]! < checkpointId) {
        return this.words[meta + META_THROUGH]! >= checkpointId ? image : MISSING
      }
    }
    // No row has so many images: the chain changed meanwhile.
    return STUCK
  }

  /** Whether a row is an image of the key for the checkpoint; its sequence in `foundSequence`. */
  private openImage(
    image: number,
    checkpointId: number,
    key: Uint8Array,
    start: number,
    length: number,
  ): boolean {
    const header = this.headerOf(image)
    const sequence = Atomics.load(this.words, header)
    if ((sequence & 1) !== 0 || (this.words[header + ROW_STATE]! & STATE_IMAGE) === 0) return false
    const meta = header + ROW_META
    this.foundSequence = sequence
    return (
      this.words[meta + META_WRITE_EPOCH]! < checkpointId &&
      this.words[meta + META_THROUGH]! >= checkpointId &&
      sameKey(this.words, header, key, start, length)
    )
  }
}
