import { murmur3 } from '../../core/hash/murmur3.ts'
import { type RowCopy, rowCopyOf } from '../../core/kernels/row-copy.ts'
import type { WasmMemory } from '../../core/lifetime/wasm-memory.ts'
import { latin1Of } from '../../core/text/latin1.ts'
import { type EntrySpan, keyOfSpan } from '../port/change.ts'
import {
  checkVectorRowAt,
  VECTOR_ROW_EVENT_TIME_AT,
  VECTOR_ROW_HEADER_BYTES,
  VECTOR_ROW_OFFSET_AT,
  VECTOR_ROW_PARTITION_AT,
  VECTOR_ROW_UPDATE_COUNT_AT,
} from '../rows/codec.ts'
import {
  KIND_ROWS,
  META_EVENT_TIME,
  META_OFFSET,
  META_PARTITION,
  META_UPDATE_COUNT,
  META_WRITE_EPOCH,
  STATE_LIVE,
} from '../rows/layout.ts'
import type { VectorSpill } from './spill.ts'
import type { VersionMemory } from './version-memory.ts'

/**
 * Fills one version's table with restored entries, newest segment first: the first one of a key wins.
 * A row is decoded from the segment's block straight into the table, and is complete before the index
 * shows it to readers. Only a row number that was used before needs its sequence word for that.
 */
export class VectorRestore {
  private readonly memory: VersionMemory
  private readonly spill: VectorSpill | undefined
  /** Keys that newer segments say are deleted, as latin1 text. */
  private readonly tombstones = new Set<string>()
  /**
   * Address (in words) in the table's memory of the sums over the rows taken, for the mean, which no one
   * reads while the table is restoring; -1 before the first row.
   */
  private sums = -1
  private rowsSummed = 0
  /** Whether some row number may have been used before, so that a late reader may still look at it. */
  private reusesRows = false
  /** Memory of the last entry, and the kernel for it. */
  private block: WasmMemory | undefined
  private copy: RowCopy | undefined

  constructor(memory: VersionMemory, spill: VectorSpill | undefined) {
    this.memory = memory
    this.spill = spill
  }

  /** One entry, its value undefined if it is a deletion. Throws as `take`. */
  takeEntry(key: Uint8Array, value: Uint8Array | undefined): void {
    const bytes = new Uint8Array(key.length + (value?.length ?? 0))
    bytes.set(key)
    if (value !== undefined) bytes.set(value, key.length)
    this.take({
      bytes,
      view: new DataView(bytes.buffer),
      memory: undefined,
      keyAt: 0,
      keyLength: key.length,
      valueAt: key.length,
      valueLength: value?.length ?? -1,
    })
  }

  /** One entry that is still in its segment's block. Throws MALFORMED_DATA, UNSUPPORTED_VERSION. */
  take(entry: EntrySpan): void {
    const { bytes, keyAt, keyLength } = entry
    const { spill } = this
    const { rows } = this.memory
    const hash = murmur3(bytes, keyAt, keyLength) | 0
    if (rows.find(bytes, hash, keyAt, keyLength) >= 0) return
    if (spill !== undefined && !spill.isEmpty && spill.has(keyOfSpan(entry), hash)) return
    if (this.tombstones.size > 0 && this.tombstones.has(latin1Of(keyOfSpan(entry)))) return
    if (entry.valueLength < 0) this.tombstones.add(latin1Of(keyOfSpan(entry)))
    else this.create(entry, hash)
  }

  /** All entries have come. */
  end(): void {
    this.tombstones.clear()
    this.forgetBlock()
    if (this.sums < 0) return
    const { mean, rows } = this.memory
    const { dimension } = rows.layout
    const from = this.sums >> 1
    mean?.begin()
    mean?.addSums(this.rowsSummed, rows.arena.doubles.subarray(from, from + dimension))
    mean?.end()
    rows.arena.release(this.sums, 2 * dimension)
    this.sums = -1
    this.rowsSummed = 0
  }

  private forgetBlock(): void {
    this.block = undefined
    this.copy = undefined
  }

  private create(entry: EntrySpan, hash: number): void {
    const { memory, spill } = this
    const { rows } = memory
    checkVectorRowAt(entry.bytes, entry.valueAt, entry.valueLength, rows.layout.dimension)
    if (this.sums < 0) this.sums = rows.arena.allocate(2 * rows.layout.dimension)
    const row = memory.take(KIND_ROWS)
    this.reusesRows ||= spill !== undefined && !spill.isEmpty
    if (this.reusesRows) rows.beginWrite(row)
    rows.writeKey(row, entry.bytes, entry.keyLength, hash, STATE_LIVE, entry.keyAt)
    this.decode(entry, row)
    if (this.reusesRows) rows.endWrite(row)
    this.rowsSummed++
    memory.enter(row, hash)
  }

  private decode(entry: EntrySpan, row: number): void {
    const { view, valueAt } = entry
    const { rows } = this.memory
    const { words, doubles } = rows.arena
    const meta = rows.metaOf(row)
    words[meta + META_UPDATE_COUNT] = view.getInt32(valueAt + VECTOR_ROW_UPDATE_COUNT_AT, true)
    words[meta + META_PARTITION] = view.getInt32(valueAt + VECTOR_ROW_PARTITION_AT, true)
    words[meta + META_WRITE_EPOCH] = 0
    doubles[(meta + META_OFFSET) >> 1] = view.getFloat64(valueAt + VECTOR_ROW_OFFSET_AT, true)
    const eventTime = view.getFloat64(valueAt + VECTOR_ROW_EVENT_TIME_AT, true)
    doubles[(meta + META_EVENT_TIME) >> 1] = eventTime
    this.decodeFloats(entry, rows.floatsOf(row))
  }

  /** Copies the floats to `to` and adds them to the sums: whole quads by the kernel, if there is one. */
  private decodeFloats({ bytes, view, memory, valueAt }: EntrySpan, to: number): void {
    const { arena, layout } = this.memory.rows
    const from = valueAt + VECTOR_ROW_HEADER_BYTES
    const quads = layout.dimension >> 2
    let done = 0
    if (memory !== undefined && quads > 0) {
      if (memory !== this.block) this.openBlock(memory)
      if (this.copy !== undefined) {
        this.copy(bytes.byteOffset + from, 4 * to, 4 * this.sums, quads)
        done = 4 * quads
      }
    }
    const { floats, doubles } = arena
    const sums = this.sums >> 1
    for (let i = done; i < layout.dimension; i++) {
      const x = view.getFloat32(from + 4 * i, true)
      floats[to + i] = x
      doubles[sums + i]! += x
    }
  }

  private openBlock(memory: WasmMemory): void {
    this.block = memory
    this.copy = rowCopyOf(memory, this.memory.rows.memory)
  }
}
