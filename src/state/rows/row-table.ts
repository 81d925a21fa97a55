import type { WasmMemory } from '../../core/lifetime/wasm-memory.ts'
import { RowTableIndex } from './key-index.ts'
import {
  CONTROL_LIVE_ROWS,
  CONTROL_SEGMENTS,
  type CONTROL_STORE_ROWS,
  CONTROL_WRITES,
  DIRECTORY_ADDRESS,
  DIRECTORY_WORDS,
  INDEX_MULTIPLIER,
  type KIND_IMAGES,
  type KIND_ROWS,
  ROW_HASH,
  ROW_KEY,
  ROW_META,
  ROW_STATE,
  type RowTableLayout,
  SCRATCH_AREAS,
  SEGMENT_HEADER_WORDS,
  SEGMENT_KEYS,
  SEGMENT_KIND,
  SEGMENT_PARTS,
  STATE_IMAGE,
  STATE_KEY_LENGTH,
  writeControl,
} from './layout.ts'
import { RowTableMemory } from './memory.ts'
import { RowList } from './row-list.ts'

/**
 * The writer of one row table: finds, allocates and frees rows, and brackets every write with the
 * row's sequence word and the segment's change counter. It has no part in checkpoints or stores.
 * Rows keep their number and address until they are freed. One thread only.
 */
export class RowTable {
  readonly layout: RowTableLayout
  readonly arena: RowTableMemory
  readonly index: RowTableIndex
  private readonly freeRows: RowList[]
  private segments = 0

  constructor(layout: RowTableLayout, maxPages?: number) {
    this.layout = layout
    this.arena = new RowTableMemory(layout.scratchWords * SCRATCH_AREAS, maxPages)
    writeControl(this.arena.words, layout)
    this.index = new RowTableIndex(this.arena)
    this.freeRows = [new RowList(), new RowList()]
  }

  get memory(): WasmMemory {
    return this.arena.memory
  }

  /** Bytes of memory in use: rows, images, keys, index. */
  get allocatedBytes(): number {
    return this.arena.allocatedBytes
  }

  /** All row numbers used so far are below this; images are among them. */
  get rowLimit(): number {
    return this.segments << this.layout.rowShift
  }

  get liveRows(): number {
    return this.arena.words[CONTROL_LIVE_ROWS]!
  }

  /** Adds to a counter of the control page. Readers compare that of the store with the index. */
  count(control: typeof CONTROL_LIVE_ROWS | typeof CONTROL_STORE_ROWS, by: number): void {
    const { words } = this.arena
    if (control === CONTROL_LIVE_ROWS) words[control]! += by
    else Atomics.add(words, control, by)
  }

  /**
   * The row with the key `key[start .. start + length)` (live, or deleted but kept), or -1. `hash` =
   * its murmur3 | 0.
   */
  find(key: Uint8Array, hash: number, start = 0, length: number = key.length): number {
    const words = this.arena.words
    const { address, mask, shift } = this.index
    let slot = Math.imul(hash, INDEX_MULTIPLIER) >>> shift
    for (;;) {
      const entry = words[address + 2 * slot + 1]!
      if (entry === 0) return -1
      if (words[address + 2 * slot] === hash && this.hasKey(entry - 1, key, start, length)) {
        return entry - 1
      }
      slot = (slot + 1) & mask
    }
  }

  private hasKey(row: number, key: Uint8Array, start: number, length: number): boolean {
    return sameKey(this.arena.words, this.headerOf(row), key, start, length)
  }

  /** Address of the row's segment. */
  segmentOf(row: number): number {
    return this.arena.words[DIRECTORY_ADDRESS + (row >>> this.layout.rowShift)]!
  }

  /** Address of the row's header. */
  headerOf(row: number): number {
    const layout = this.layout
    const inSegment = row & (layout.rowsPerSegment - 1)
    return this.segmentOf(row) + SEGMENT_HEADER_WORDS + inSegment * layout.headerWords
  }

  /** Address of the row's meta words. */
  metaOf(row: number): number {
    return this.headerOf(row) + ROW_META
  }

  /** Address of the row's floats (an index into `arena.floats`). */
  floatsOf(row: number): number {
    const layout = this.layout
    const inSegment = row & (layout.rowsPerSegment - 1)
    return this.segmentOf(row) + layout.floatsAt + inSegment * layout.stride
  }

  stateOf(row: number): number {
    return this.arena.words[this.headerOf(row) + ROW_STATE]!
  }

  /** Whether the row number is used by an image at present. */
  isImage(row: number): boolean {
    return (this.stateOf(row) & STATE_IMAGE) !== 0
  }

  hashOf(row: number): number {
    return this.arena.words[this.headerOf(row) + ROW_HASH]!
  }

  /** Changes flags without a write of the row: for those that readers do not look at. */
  setFlags(row: number, set: number, clear: number): void {
    const at = this.headerOf(row) + ROW_STATE
    this.arena.words[at] = (this.arena.words[at]! & ~clear) | set
  }

  /** The row's key, copied into `target`; its length. */
  keyInto(row: number, target: Uint8Array): number {
    const header = this.headerOf(row)
    const words = this.arena.words
    const length = words[header + ROW_STATE]! & STATE_KEY_LENGTH
    for (let i = 0; i < length; i++) {
      target[i] = words[header + ROW_KEY + (i >> 2)]! >>> ((i & 3) * 8)
    }
    return length
  }

  /** A free row of a kind, or -1 when a new segment would be needed. */
  takeFree(kind: typeof KIND_ROWS | typeof KIND_IMAGES): number {
    return this.freeRows[kind]!.pop()
  }

  /** Whether a segment can still be added within 4 GB. */
  canGrow(): boolean {
    return this.segments < DIRECTORY_WORDS && this.arena.hasRoomFor(this.layout.segmentWords)
  }

  /** Adds a segment and returns its first row. Throws OUT_OF_ROW_MEMORY. */
  grow(kind: typeof KIND_ROWS | typeof KIND_IMAGES): number {
    const { segmentWords, rowsPerSegment, rowShift } = this.layout
    const segment = this.arena.allocateReleased(segmentWords)
    const words = this.arena.words
    words[segment + SEGMENT_KIND] = kind
    const first = this.segments << rowShift
    const free = this.freeRows[kind]!
    for (let row = first + rowsPerSegment - 1; row > first; row--) free.push(row)
    Atomics.store(words, DIRECTORY_ADDRESS + this.segments, segment)
    this.segments++
    Atomics.store(words, CONTROL_SEGMENTS, this.segments)
    return first
  }

  /** Opens a write of the row: from here to `endWrite` readers retry. */
  beginWrite(row: number): void {
    const words = this.arena.words
    Atomics.add(words, this.segmentOf(row), 1)
    Atomics.add(words, this.headerOf(row), 1)
  }

  /** Counts a put or a removal, between `beginWrite` and `endWrite`: what readers keep of rows is old now. */
  countWrite(): void {
    this.arena.words[CONTROL_WRITES]! += 1
  }

  endWrite(row: number): void {
    const words = this.arena.words
    const segment = this.segmentOf(row)
    const { rowsPerSegment, partShift } = this.layout
    Atomics.add(words, this.headerOf(row), 1)
    words[segment + SEGMENT_PARTS + ((row & (rowsPerSegment - 1)) >> partShift)]! += 1
    Atomics.add(words, segment, 1)
  }

  /**
   * Writes key `key[start .. start + length)`, hash and flags of a row that was free, between `beginWrite`
   * and `endWrite`. A free row is zero, so that nothing pads the key.
   */
  writeKey(
    row: number,
    key: Uint8Array,
    length: number,
    hash: number,
    flags: number,
    start = 0,
  ): void {
    const header = this.headerOf(row)
    const words = this.arena.words
    words[header + ROW_STATE] = length | flags
    words[header + ROW_HASH] = hash
    const keyEnd = start + length
    let at = header + ROW_KEY
    let i = start
    for (; i + 4 <= keyEnd; at++, i += 4) {
      words[at] = key[i]! | (key[i + 1]! << 8) | (key[i + 2]! << 16) | (key[i + 3]! << 24)
    }
    if (i < keyEnd) words[at] = lastKeyWord(key, i, keyEnd)
    words[this.segmentOf(row) + SEGMENT_KEYS]! += 1
  }

  /** Empties a row that is no longer in the index and makes its number free. */
  free(row: number): void {
    const kind = this.arena.words[this.segmentOf(row) + SEGMENT_KIND] as typeof KIND_ROWS
    this.beginWrite(row)
    const header = this.headerOf(row)
    // Loops: `fill` takes several times as long in shared memory.
    const { words, floats } = this.arena
    const { headerWords, stride } = this.layout
    for (let i = ROW_STATE; i < headerWords; i++) words[header + i] = 0
    const from = this.floatsOf(row)
    for (let i = 0; i < stride; i++) floats[from + i] = 0
    this.endWrite(row)
    this.freeRows[kind]!.push(row)
  }
}

/** The zero-padded word of a key's bytes from `i`, of which fewer than four are left before `end`. */
function lastKeyWord(key: Uint8Array, i: number, end: number): number {
  let word = 0
  for (let n = i; n < end; n++) word |= key[n]! << ((n - i) * 8)
  return word
}

/** Whether the header at `header` has exactly the key `key[start .. start + length)`. */
export function sameKey(
  words: Int32Array,
  header: number,
  key: Uint8Array,
  start: number,
  length: number,
): boolean {
  if ((words[header + ROW_STATE]! & STATE_KEY_LENGTH) !== length) return false
  let at = header + ROW_KEY
  let i = start
  const wholeEnd = start + (length & ~3)
  for (; i < wholeEnd; i += 4) {
    const word = key[i]! | (key[i + 1]! << 8) | (key[i + 2]! << 16) | (key[i + 3]! << 24)
    if (words[at++] !== word) return false
  }
  const rest = length & 3
  if (rest === 0) return true
  let word = key[i]!
  if (rest > 1) word |= key[i + 1]! << 8
  if (rest > 2) word |= key[i + 2]! << 16
  return words[at] === word
}
