import { sameKey } from './row-table.ts'
import {
  CONTROL_EVICTING,
  CONTROL_INDEX_ADDRESS,
  CONTROL_INDEX_EPOCH,
  CONTROL_INDEX_MASK,
  CONTROL_INDEX_SHIFT,
  CONTROL_RESTORING,
  CONTROL_STORE_ROWS,
  CONTROL_WANTED,
  INDEX_MULTIPLIER,
  META_EVENT_TIME,
  META_IMAGE,
  META_OFFSET,
  META_PARTITION,
  META_THROUGH,
  META_UPDATE_COUNT,
  META_WRITE_EPOCH,
  ROW_REFERENCE,
  ROW_STATE,
  STATE_DELETED,
  STATE_IMAGE,
  STATE_LIVE,
} from './row-table-layout.ts'
import {
  innerProduct,
  MISSING,
  RESTORING,
  RowTableView,
  SPILLED,
  SPINS,
  STUCK,
} from './row-table-view.ts'

export { MISSING, RESTORING, SPILLED, STUCK } from './row-table-view.ts'

/** How often a read starts again because the row changed under it, before it answers STUCK. */
const ATTEMPTS = 64

/** Index entries that `candidateAt` looks at; most keys lie within a few. */
const CANDIDATE_PROBES = 8

/** What a row carries beside its floats, filled by `RowTableReader.metaInto`. */
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
export class RowTableReader extends RowTableView {
  /** Sequence word of the row that the last `find` returned. */
  foundSequence = 0

  /**
   * The live row with the key `key[start .. start + length)`, whose murmur3 hash is `hash` (as int32),
   * or MISSING, STUCK, SPILLED, RESTORING.
   */
  find(key: Uint8Array, start: number, length: number, hash: number): number {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const row = this.locate(key, start, length, hash)
      if (row < 0) return row
      if (this.isLiveNow(row)) return row
      if (this.unchanged(row, this.foundSequence)) return MISSING
    }
    return STUCK
  }

  /** Whether a located row is live; it is then marked as referenced. */
  private isLiveNow(row: number): boolean {
    const header = this.headerOf(row)
    if ((this.words[header + ROW_STATE]! & STATE_LIVE) === 0) return false
    if (this.words[CONTROL_EVICTING] !== 0 && this.words[header + ROW_REFERENCE] === 0) {
      this.words[header + ROW_REFERENCE] = 1
    }
    return true
  }

  /** As `find`, which it saves when `row` (of `candidateAt`) is the one. */
  findAt(row: number, key: Uint8Array, start: number, length: number, hash: number): number {
    if (row >= 0 && this.match(row, key, start, length) === row && this.isLiveNow(row)) return row
    return this.find(key, start, length, hash)
  }

  /**
   * Sequence word at a header's address (`headerOf`), read after everything that was read before. A
   * live row whose word is as `find` found it has the same key and content still.
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

  /** As `find`, but also finds a row that was deleted and is kept for a checkpoint. */
  locate(key: Uint8Array, start: number, length: number, hash: number): number {
    for (let spin = 0; spin < SPINS; spin++) {
      const epoch = Atomics.load(this.words, CONTROL_INDEX_EPOCH)
      if ((epoch & 1) !== 0) continue
      const row = this.probe(key, start, length, hash)
      if (row !== MISSING) return row
      const restoring = Atomics.load(this.words, CONTROL_RESTORING)
      const storeRows = Atomics.load(this.words, CONTROL_STORE_ROWS)
      if (Atomics.load(this.words, CONTROL_INDEX_EPOCH) !== epoch) continue
      if (storeRows > 0) return SPILLED
      if (restoring === 0) return MISSING
      this.want(hash)
      return RESTORING
    }
    return STUCK
  }

  /** Asks the writer to restore the key's group next; another reader's wish may take its place. */
  private want(hash: number): void {
    const group = (hash >>> 0) % this.share.maxParallelism
    Atomics.store(this.words, CONTROL_WANTED, group + 1)
  }

  /** Address in words of the index entry at which a look-up of this hash (as int32) begins. */
  indexSlotOf(hash: number): number {
    const address = this.words[CONTROL_INDEX_ADDRESS]!
    if (address + 2 * this.words[CONTROL_INDEX_MASK]! + 2 > this.words.length) this.refresh()
    return address + 2 * (Math.imul(hash, INDEX_MULTIPLIER) >>> this.words[CONTROL_INDEX_SHIFT]!)
  }

  /**
   * The row that a look-up from an index entry (`indexSlotOf`) would most likely find, -1 if none; a
   * guess by the hash alone, good for reading ahead.
   */
  candidateAt(slot: number, hash: number): number {
    const words = this.words
    const end = slot + 2 * CANDIDATE_PROBES
    for (let at = slot; at < end; at += 2) {
      const entry = words[at + 1]!
      if (entry === 0) return -1
      if (words[at] === hash) return this.checkedHeaderOf(entry - 1) < 0 ? -1 : entry - 1
    }
    return -1
  }

  private probe(key: Uint8Array, start: number, length: number, hash: number): number {
    const address = this.words[CONTROL_INDEX_ADDRESS]!
    const mask = this.words[CONTROL_INDEX_MASK]!
    if (address + 2 * mask + 2 > this.words.length) this.refresh()
    const words = this.words
    let slot = Math.imul(hash, INDEX_MULTIPLIER) >>> words[CONTROL_INDEX_SHIFT]!
    for (let n = 0; n <= mask; n++) {
      const entry = words[address + 2 * slot + 1]!
      if (entry === 0) return MISSING
      if (words[address + 2 * slot] === hash) {
        const outcome = this.match(entry - 1, key, start, length)
        if (outcome !== MISSING) return outcome
      }
      slot = (slot + 1) & mask
    }
    return MISSING
  }

  /** The row if it has the key, MISSING if it has another, STUCK if it stays odd. */
  private match(row: number, key: Uint8Array, start: number, length: number): number {
    const header = this.checkedHeaderOf(row)
    if (header < 0) return MISSING
    for (let spin = 0; spin < SPINS; spin++) {
      const sequence = Atomics.load(this.words, header)
      if ((sequence & 1) !== 0) continue
      if ((this.words[header + ROW_STATE]! & (STATE_LIVE | STATE_DELETED)) === 0) return MISSING
      if (!sameKey(this.words, header, key, start, length)) return MISSING
      this.foundSequence = sequence
      return row
    }
    return STUCK
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
    const meta = this.headerOf(row) + this.layout.metaAt
    target.updateCount = this.words[meta + META_UPDATE_COUNT]!
    target.partition = this.words[meta + META_PARTITION]!
    target.offset = this.doubles[(meta + META_OFFSET) >> 1]!
    target.eventTime = this.doubles[(meta + META_EVENT_TIME) >> 1]!
    return this.unchanged(row, sequence)
  }

  /** Source partition of the last write of a found row; check with `unchanged` or `dot` afterwards. */
  partitionOf(row: number): number {
    return this.words[this.headerOf(row) + this.layout.metaAt + META_PARTITION]!
  }

  /** Source offset of the last write of a found row; check as above. */
  offsetOf(row: number): number {
    return this.doubles[(this.headerOf(row) + this.layout.metaAt + META_OFFSET) >> 1]!
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
    const a = this.floats
    const b = other.floats
    const x = this.floatsOf(row)
    const y = other.floatsOf(otherRow)
    const sum = innerProduct(a, x, b, y, this.layout.stride)
    if (!this.unchanged(row, sequence) || !other.unchanged(otherRow, otherSequence))
      return Number.NaN
    return sum
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
   * Copies the row with the key as the checkpoint has it, [dimension], to `target` from `at`, and its
   * meta: the row's number, MISSING when the checkpoint has no such row, or STUCK, SPILLED, RESTORING.
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
      if (image !== row && !this.openImage(image, checkpointId, key, start, length)) continue
      const imageSequence = this.foundSequence
      const deleted = (this.words[this.headerOf(image) + ROW_STATE]! & STATE_DELETED) !== 0
      this.metaInto(image, imageSequence, meta)
      if (!this.readInto(image, imageSequence, target, at)) continue
      return deleted ? MISSING : row
    }
    return STUCK
  }

  /** The row or the image of it that the checkpoint sees, MISSING if none. */
  private imageAt(row: number, checkpointId: number): number {
    let meta = this.headerOf(row) + this.layout.metaAt
    if (this.words[meta + META_WRITE_EPOCH]! < checkpointId) return row
    for (let depth = 0; depth < 16; depth++) {
      const image = this.words[meta + META_IMAGE]! - 1
      if (image < 0) return MISSING
      const header = this.checkedHeaderOf(image)
      if (header < 0) return MISSING
      meta = header + this.layout.metaAt
      if (this.words[meta + META_WRITE_EPOCH]! < checkpointId) {
        return this.words[meta + META_THROUGH]! >= checkpointId ? image : MISSING
      }
    }
    return MISSING
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
    const meta = header + this.layout.metaAt
    this.foundSequence = sequence
    return (
      this.words[meta + META_WRITE_EPOCH]! < checkpointId &&
      this.words[meta + META_THROUGH]! >= checkpointId &&
      sameKey(this.words, header, key, start, length)
    )
  }
}
