import { sameKey } from './row-table.ts'
import {
  CONTROL_DIRECTORY,
  CONTROL_EVICTING,
  CONTROL_INDEX_ADDRESS,
  CONTROL_INDEX_EPOCH,
  CONTROL_INDEX_MASK,
  CONTROL_INDEX_SHIFT,
  CONTROL_LIVE_ROWS,
  CONTROL_MEANS,
  CONTROL_RESTORING,
  CONTROL_RETAINED,
  CONTROL_SCRATCH,
  CONTROL_SCRATCH_TAKEN,
  CONTROL_SCRATCH_WORDS,
  CONTROL_SEGMENTS,
  CONTROL_STORE_ROWS,
  INDEX_MULTIPLIER,
  KIND_ROWS,
  MEAN_CHECKPOINT,
  MEAN_COUNT,
  MEAN_SEQUENCE,
  MEAN_SLOTS,
  MEAN_SUMS,
  META_EVENT_TIME,
  META_IMAGE,
  META_OFFSET,
  META_PARTITION,
  META_THROUGH,
  META_UPDATE_COUNT,
  META_WRITE_EPOCH,
  RETAINED_CHECKPOINTS,
  ROW_KEY,
  ROW_REFERENCE,
  ROW_STATE,
  type RowTableLayout,
  readControl,
  SCRATCH_AREAS,
  SEGMENT_CHANGES,
  SEGMENT_HEADER_WORDS,
  SEGMENT_KIND,
  STATE_DELETED,
  STATE_IMAGE,
  STATE_KEY_LENGTH,
  STATE_LIVE,
} from './row-table-layout.ts'
import type { RowTableShare } from './row-table-share.ts'

/** No row has the key. */
export const MISSING = -1
/** The row (or the index) stayed in the middle of a write: its writer is stalled or dead. */
export const STUCK = -2
/** Not in memory; the slot may have it in its store. */
export const SPILLED = -3
/** Not there yet: the slot restores. */
export const RESTORING = -4

/** How often a look-up starts again before it answers STUCK; with the spins, about a millisecond. */
const ATTEMPTS = 64
/** Looks at an odd sequence word before a row counts as stuck. */
const SPINS = 4096

/**
 * JavaScript has no load fence. x86 keeps loads in order; elsewhere the closing look at a sequence
 * word is an atomic addition of 0, which earlier loads do not pass.
 */
const ORDERED_LOADS = process.arch === 'x64'

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
export class RowTableReader {
  readonly share: RowTableShare
  readonly layout: RowTableLayout
  /** Sequence word of the row that the last `find` returned. */
  foundSequence = 0
  private words: Int32Array
  private floats: Float32Array
  private doubles: Float64Array
  private readonly directory: number
  private readonly meanCopy: Float64Array

  constructor(share: RowTableShare) {
    this.share = share
    const buffer = share.memory.buffer
    this.words = new Int32Array(buffer)
    this.floats = new Float32Array(buffer)
    this.doubles = new Float64Array(buffer)
    this.layout = readControl(this.words)
    this.directory = this.words[CONTROL_DIRECTORY]!
    this.meanCopy = new Float64Array(this.layout.dimension)
  }

  /** Rows in memory. */
  get liveRows(): number {
    return Atomics.load(this.words, CONTROL_LIVE_ROWS)
  }

  /** Rows that only the slot's store has. */
  get storeRows(): number {
    return Atomics.load(this.words, CONTROL_STORE_ROWS)
  }

  get restoring(): boolean {
    return Atomics.load(this.words, CONTROL_RESTORING) !== 0
  }

  /**
   * The live row with the key `key[start .. start + length)`, whose murmur3 hash is `hash` (as int32),
   * or MISSING, STUCK, SPILLED, RESTORING.
   */
  find(key: Uint8Array, start: number, length: number, hash: number): number {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const row = this.locate(key, start, length, hash)
      if (row < 0) return row
      const header = this.headerOf(row)
      if ((this.words[header + ROW_STATE]! & STATE_LIVE) !== 0) {
        if (this.words[CONTROL_EVICTING] !== 0 && this.words[header + ROW_REFERENCE] === 0) {
          this.words[header + ROW_REFERENCE] = 1
        }
        return row
      }
      if (this.unchanged(row, this.foundSequence)) return MISSING
    }
    return STUCK
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
      return restoring === 0 ? MISSING : RESTORING
    }
    return STUCK
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

  /** Whether the row is still as it was when its sequence word was `sequence`. */
  unchanged(row: number, sequence: number): boolean {
    return this.sequenceAt(this.headerOf(row)) === sequence
  }

  private sequenceAt(address: number): number {
    return ORDERED_LOADS ? Atomics.load(this.words, address) : Atomics.add(this.words, address, 0)
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

  /**
   * Adds the sums of all rows of this table, [dimension] float64, to `sums` and returns their number:
   * of the live rows, or as they stood at a checkpoint. MISSING when no mean is kept (for that
   * checkpoint), STUCK.
   */
  addMeanInto(checkpointId: number, sums: Float64Array): number {
    const means = this.words[CONTROL_MEANS]!
    if (means === 0) return MISSING
    if (means * 2 > this.words.length) this.refresh()
    const slotWords = MEAN_SUMS + 2 * this.layout.dimension
    const first = checkpointId === 0 ? 0 : 1
    const end = checkpointId === 0 ? 1 : MEAN_SLOTS
    for (let slot = first; slot < end; slot++) {
      const address = means + slot * slotWords
      if (this.words[address + MEAN_CHECKPOINT] !== checkpointId) continue
      return this.addMeanSlot(address, checkpointId, sums)
    }
    return MISSING
  }

  private addMeanSlot(address: number, checkpointId: number, sums: Float64Array): number {
    const from = (address + MEAN_SUMS) >> 1
    const dimension = this.layout.dimension
    const copy = this.meanCopy
    for (let spin = 0; spin < SPINS; spin++) {
      const sequence = Atomics.load(this.words, address + MEAN_SEQUENCE)
      if ((sequence & 1) !== 0) continue
      const same = this.words[address + MEAN_CHECKPOINT] === checkpointId
      const count = this.doubles[(address + MEAN_COUNT) >> 1]!
      for (let i = 0; i < dimension; i++) copy[i] = this.doubles[from + i]!
      if (this.sequenceAt(address + MEAN_SEQUENCE) !== sequence) continue
      if (!same) return MISSING
      for (let i = 0; i < dimension; i++) sums[i]! += copy[i]!
      return count
    }
    return STUCK
  }

  /** Segments so far; each holds `layout.rowsPerSegment` rows or images. */
  get segments(): number {
    return Atomics.load(this.words, CONTROL_SEGMENTS)
  }

  /** Whether a segment holds rows (and not images). */
  hasRows(segment: number): boolean {
    return this.words[this.segmentAddress(segment) + SEGMENT_KIND] === KIND_ROWS
  }

  /** Change counter of a segment: odd while a write goes on. */
  changesOf(segment: number): number {
    return this.sequenceAt(this.segmentAddress(segment) + SEGMENT_CHANGES)
  }

  /** Address of a segment's floats in words: a dense matrix of rowsPerSegment x stride. */
  blockOf(segment: number): number {
    return this.segmentAddress(segment) + this.layout.floatsAt
  }

  /** The whole memory as float32; addresses of `blockOf` are indexes into it. */
  get block(): Float32Array {
    return this.floats
  }

  /**
   * Address in bytes of a scratch area for top-k kernels, -1 when all are taken. To be given back in
   * the same turn of the event loop.
   */
  takeScratch(): number {
    for (let area = 0; area < SCRATCH_AREAS; area++) {
      if (Atomics.compareExchange(this.words, CONTROL_SCRATCH_TAKEN + area, 0, 1) !== 0) continue
      const first = this.words[CONTROL_SCRATCH]!
      return (first + area * this.words[CONTROL_SCRATCH_WORDS]!) * 4
    }
    return -1
  }

  /** Gives a scratch area back. */
  releaseScratch(address: number): void {
    const offset = address / 4 - this.words[CONTROL_SCRATCH]!
    const area = Math.round(offset / this.words[CONTROL_SCRATCH_WORDS]!)
    Atomics.store(this.words, CONTROL_SCRATCH_TAKEN + area, 0)
  }

  /** Whether a row read at this checkpoint is what the checkpoint held: it is retained. */
  retains(checkpointId: number): boolean {
    for (let i = 0; i < RETAINED_CHECKPOINTS; i++) {
      if (Atomics.load(this.words, CONTROL_RETAINED + i) === checkpointId) return true
    }
    return false
  }

  /** The memory as words, for triples in a scratch area. */
  get memoryWords(): Int32Array {
    return this.words
  }

  /** Whether the row number has a row, live or deleted (not free, not an image). */
  isRow(row: number): boolean {
    return (this.words[this.headerOf(row) + ROW_STATE]! & (STATE_LIVE | STATE_DELETED)) !== 0
  }

  /** Sequence word of a row, for a scan that reads rows by number; odd while it is written. */
  openRow(row: number): number {
    return Atomics.load(this.words, this.headerOf(row))
  }

  /** Whether the row is live (not free, deleted or an image). */
  isLive(row: number): boolean {
    return (this.words[this.headerOf(row) + ROW_STATE]! & STATE_LIVE) !== 0
  }

  /** Copies the row's key to `target` from `at`; its length. */
  keyInto(row: number, target: Uint8Array, at: number): number {
    const header = this.headerOf(row)
    const length = Math.min(
      this.words[header + ROW_STATE]! & STATE_KEY_LENGTH,
      this.layout.maxKeyBytes,
    )
    for (let i = 0; i < length; i++) {
      target[at + i] = this.words[header + ROW_KEY + (i >> 2)]! >>> ((i & 3) * 8)
    }
    return length
  }

  /** Inner product of a row by number with a vector; no check at all. */
  rawDot(row: number, vector: Float32Array, at: number): number {
    return innerProduct(this.floats, this.floatsOf(row), vector, at, this.layout.dimension)
  }

  private segmentAddress(segment: number): number {
    const address = this.words[this.directory + segment]!
    if (address + this.layout.segmentWords > this.words.length) this.refresh()
    return address
  }

  private headerOf(row: number): number {
    const layout = this.layout
    const segment = this.words[this.directory + (row >>> layout.rowShift)]!
    const inSegment = row & (layout.rowsPerSegment - 1)
    return segment + SEGMENT_HEADER_WORDS + inSegment * layout.headerWords
  }

  /** As `headerOf`, -1 for a row number that is none; views are refreshed for it. */
  private checkedHeaderOf(row: number): number {
    const layout = this.layout
    const number = row >>> layout.rowShift
    if (row < 0 || number >= this.words[CONTROL_SEGMENTS]!) return -1
    const segment = this.words[this.directory + number]!
    if (segment + layout.segmentWords > this.words.length) this.refresh()
    const inSegment = row & (layout.rowsPerSegment - 1)
    return segment + SEGMENT_HEADER_WORDS + inSegment * layout.headerWords
  }

  private floatsOf(row: number): number {
    const layout = this.layout
    const segment = this.words[this.directory + (row >>> layout.rowShift)]!
    return segment + layout.floatsAt + (row & (layout.rowsPerSegment - 1)) * layout.stride
  }

  private refresh(): void {
    const buffer = this.share.memory.buffer
    this.words = new Int32Array(buffer)
    this.floats = new Float32Array(buffer)
    this.doubles = new Float64Array(buffer)
  }
}

/** Sum of a[x + i] * b[y + i] for i < length in float64, four running sums. */
function innerProduct(
  a: Float32Array,
  x: number,
  b: Float32Array,
  y: number,
  length: number,
): number {
  let s0 = 0
  let s1 = 0
  let s2 = 0
  let s3 = 0
  let i = 0
  for (; i + 3 < length; i += 4) {
    s0 += a[x + i]! * b[y + i]!
    s1 += a[x + i + 1]! * b[y + i + 1]!
    s2 += a[x + i + 2]! * b[y + i + 2]!
    s3 += a[x + i + 3]! * b[y + i + 3]!
  }
  for (; i < length; i++) s0 += a[x + i]! * b[y + i]!
  return s0 + s1 + (s2 + s3)
}
