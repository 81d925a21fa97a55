import { threadId } from 'node:worker_threads'
import { innerProduct } from '../../core/kernels/inner-product.ts'
import {
  CONTROL_DIRECTORY,
  CONTROL_LIVE_ROWS,
  CONTROL_MEANS,
  CONTROL_RESTORING,
  CONTROL_RETAINED,
  CONTROL_SCRATCH,
  CONTROL_SCRATCH_TAKEN,
  CONTROL_SCRATCH_WORDS,
  CONTROL_SEGMENTS,
  CONTROL_STORE_ROWS,
  CONTROL_WRITES,
  KIND_ROWS,
  MEAN_CHECKPOINT,
  MEAN_COUNT,
  MEAN_SEQUENCE,
  MEAN_SLOTS,
  MEAN_SUMS,
  RETAINED_CHECKPOINTS,
  ROW_HASH,
  ROW_KEY,
  ROW_STATE,
  type RowTableLayout,
  readControl,
  SCRATCH_AREAS,
  SEGMENT_CHANGES,
  SEGMENT_HEADER_WORDS,
  SEGMENT_KEYS,
  SEGMENT_KIND,
  SEGMENT_PARTS,
  STATE_DELETED,
  STATE_KEY_LENGTH,
  STATE_LIVE,
} from './layout.ts'
import type { RowTableShare } from './share.ts'

/** Mark of scratch areas that this thread has taken. */
const OWN_MARK = threadId + 1

/** Releases the scratch areas of a table that a thread had taken when it died. */
export function releaseScratchOfThread({ memory }: RowTableShare, thread: number): void {
  const words = new Int32Array(memory.buffer)
  for (let area = 0; area < SCRATCH_AREAS; area++) {
    Atomics.compareExchange(words, CONTROL_SCRATCH_TAKEN + area, thread + 1, 0)
  }
}

/** No row has the key. */
export const MISSING = -1
/** The row (or the index) stayed in the middle of a write: its writer is stalled or dead. */
export const STUCK = -2
/** Not in memory; the slot may have it in its store. */
export const SPILLED = -3
/** Not there yet: the slot is restoring. */
export const RESTORING = -4

/** Reads of an odd sequence word before a row counts as stuck. */
export const SPINS = 4096

/**
 * JavaScript has no load fence. x86 keeps loads in order; elsewhere the last read of a sequence
 * word is an atomic addition of 0, which earlier loads do not pass.
 */
const ORDERED_LOADS = process.arch === 'x64'

/**
 * One row table's shared memory as a reading thread sees it: views that follow growth, addresses,
 * and data for passes over many rows (segments, means, scratch areas). Rows by key: `RowTableReader`.
 */
export class RowTableView {
  readonly share: RowTableShare
  readonly layout: RowTableLayout
  protected words: Int32Array
  protected floats: Float32Array
  protected doubles: Float64Array
  protected readonly directory: number
  protected readonly meanCopy: Float64Array

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

  /** Puts and removals of rows so far. */
  get writes(): number {
    return Atomics.load(this.words, CONTROL_WRITES)
  }

  get restoring(): boolean {
    return Atomics.load(this.words, CONTROL_RESTORING) !== 0
  }

  /** Whether the row is still as it was when its sequence word was `sequence`. */
  unchanged(row: number, sequence: number): boolean {
    return this.sequenceAt(this.headerOf(row)) === sequence
  }

  protected sequenceAt(address: number): number {
    return ORDERED_LOADS ? Atomics.load(this.words, address) : Atomics.add(this.words, address, 0)
  }

  /**
   * Adds the sums of all rows of this table, [dimension] float64, to `sums` and returns their number:
   * of the live rows, or as they were at a checkpoint. MISSING when no mean is kept (for that
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

  /** Change counter of a segment: odd during a write. */
  changesOf(segment: number): number {
    return this.sequenceAt(this.segmentAddress(segment) + SEGMENT_CHANGES)
  }

  /** Counter of the keys that rows of a segment got: while it stays the same, no live row has another key. */
  keysOf(segment: number): number {
    return Atomics.load(this.words, this.segmentAddress(segment) + SEGMENT_KEYS)
  }

  /** Address in words of the change counters of a segment's `PARTS` parts; they grow at the end of a write. */
  partChangesAt(segment: number): number {
    return this.segmentAddress(segment) + SEGMENT_PARTS
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
   * Address in bytes of a scratch area for top-k kernels, -1 when all are taken. To be released in
   * the same turn of the event loop.
   */
  takeScratch(): number {
    for (let area = 0; area < SCRATCH_AREAS; area++) {
      if (Atomics.compareExchange(this.words, CONTROL_SCRATCH_TAKEN + area, 0, OWN_MARK) !== 0)
        continue
      const first = this.words[CONTROL_SCRATCH]!
      return (first + area * this.words[CONTROL_SCRATCH_WORDS]!) * 4
    }
    return -1
  }

  /** Releases a scratch area. */
  releaseScratch(address: number): void {
    const offset = address / 4 - this.words[CONTROL_SCRATCH]!
    const area = Math.round(offset / this.words[CONTROL_SCRATCH_WORDS]!)
    Atomics.store(this.words, CONTROL_SCRATCH_TAKEN + area, 0)
  }

  /** Whether the checkpoint is retained: rows can still be read as it held them. */
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

  /** The murmur3 hash of the row's key, as int32. */
  hashOf(row: number): number {
    return this.words[this.headerOf(row) + ROW_HASH]!
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

  /** Sum of the squares of a row's first floats; no check at all. */
  rawSquares(row: number, columns: number): number {
    const at = this.floatsOf(row)
    return innerProduct(this.floats, at, this.floats, at, columns)
  }

  protected segmentAddress(segment: number): number {
    const address = this.words[this.directory + segment]!
    if (address + this.layout.segmentWords > this.words.length) this.refresh()
    return address
  }

  /** Address of a row's header in words. */
  headerOf(row: number): number {
    const layout = this.layout
    const segment = this.words[this.directory + (row >>> layout.rowShift)]!
    const inSegment = row & (layout.rowsPerSegment - 1)
    return segment + SEGMENT_HEADER_WORDS + inSegment * layout.headerWords
  }

  /** As `headerOf`, but -1 for a number beyond the table; refreshes the views if needed. */
  protected checkedHeaderOf(row: number): number {
    const layout = this.layout
    const number = row >>> layout.rowShift
    if (row < 0 || number >= this.words[CONTROL_SEGMENTS]!) return -1
    const segment = this.words[this.directory + number]!
    if (segment + layout.segmentWords > this.words.length) this.refresh()
    const inSegment = row & (layout.rowsPerSegment - 1)
    return segment + SEGMENT_HEADER_WORDS + inSegment * layout.headerWords
  }

  /** Address of a row's floats in words. */
  floatsOf(row: number): number {
    const layout = this.layout
    const segment = this.words[this.directory + (row >>> layout.rowShift)]!
    return segment + layout.floatsAt + (row & (layout.rowsPerSegment - 1)) * layout.stride
  }

  protected refresh(): void {
    const buffer = this.share.memory.buffer
    this.words = new Int32Array(buffer)
    this.floats = new Float32Array(buffer)
    this.doubles = new Float64Array(buffer)
  }
}
