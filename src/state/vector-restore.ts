import { murmur3 } from '../core/murmur3.ts'
import {
  KIND_ROWS,
  META_EVENT_TIME,
  META_OFFSET,
  META_PARTITION,
  META_UPDATE_COUNT,
  META_WRITE_EPOCH,
  STATE_LIVE,
} from './row-table-layout.ts'
import { type EntrySpan, keyOfSpan } from './state-change.ts'
import {
  checkVectorRowAt,
  latin1,
  VECTOR_ROW_EVENT_TIME_AT,
  VECTOR_ROW_HEADER_BYTES,
  VECTOR_ROW_OFFSET_AT,
  VECTOR_ROW_PARTITION_AT,
  VECTOR_ROW_UPDATE_COUNT_AT,
} from './vector-row-codec.ts'
import type { VectorTable } from './vector-table.ts'

/**
 * Fills one version's table with restored entries, newest segment first: the first one of a key wins.
 * A row is decoded from the segment's block straight into its place, and is complete before the index
 * shows it to readers; only a row number that was used before needs its sequence word for that.
 */
export class VectorRestore {
  private readonly table: VectorTable
  /** Keys that the newer segments say are deleted, as latin1 text. */
  private readonly tombstones = new Set<string>()
  /** Sums over the rows taken, for the mean: nobody reads the mean of a table that is restoring. */
  private readonly sums: Float64Array
  private rowsSummed = 0
  /** Whether some row number may have been used before, so that a late reader may still look at it. */
  private reusesRows = false

  constructor(table: VectorTable) {
    this.table = table
    this.sums = new Float64Array(table.context.layout.dimension)
  }

  /** One entry, its value undefined if it is a deletion. Throws as `take`. */
  takeEntry(key: Uint8Array, value: Uint8Array | undefined): void {
    const bytes = new Uint8Array(key.length + (value?.length ?? 0))
    bytes.set(key)
    if (value !== undefined) bytes.set(value, key.length)
    this.take({
      bytes,
      view: new DataView(bytes.buffer),
      keyAt: 0,
      keyLength: key.length,
      valueAt: key.length,
      valueLength: value?.length ?? -1,
    })
  }

  /** One entry where it lies. Throws MALFORMED_DATA, UNSUPPORTED_VERSION. */
  take(entry: EntrySpan): void {
    const { bytes, keyAt, keyLength } = entry
    const { rows, spill } = this.table
    const hash = murmur3(bytes, keyAt, keyLength) | 0
    if (rows.find(bytes, hash, keyAt, keyLength) >= 0) return
    if (spill !== undefined && !spill.isEmpty && spill.has(keyOfSpan(entry), hash)) return
    if (this.tombstones.size > 0 && this.tombstones.has(latin1(keyOfSpan(entry)))) return
    if (entry.valueLength < 0) this.tombstones.add(latin1(keyOfSpan(entry)))
    else this.create(entry, hash)
  }

  /** All entries have come. */
  end(): void {
    this.tombstones.clear()
    const { mean } = this.table
    mean?.begin()
    mean?.addSums(this.rowsSummed, this.sums)
    mean?.end()
    this.sums.fill(0)
    this.rowsSummed = 0
  }

  private create(entry: EntrySpan, hash: number): void {
    const { table } = this
    const { rows, spill } = table
    checkVectorRowAt(entry.bytes, entry.valueAt, entry.valueLength, rows.layout.dimension)
    const row = table.take(KIND_ROWS)
    this.reusesRows ||= spill !== undefined && !spill.isEmpty
    if (this.reusesRows) rows.beginWrite(row)
    rows.writeKey(row, entry.bytes, entry.keyLength, hash, STATE_LIVE, entry.keyAt)
    this.decode(entry, row)
    if (this.reusesRows) rows.endWrite(row)
    this.rowsSummed++
    table.enter(row, hash)
  }

  private decode({ view, valueAt }: EntrySpan, row: number): void {
    const { rows } = this.table
    const { words, doubles, floats } = rows.arena
    const meta = rows.metaOf(row)
    words[meta + META_UPDATE_COUNT] = view.getInt32(valueAt + VECTOR_ROW_UPDATE_COUNT_AT, true)
    words[meta + META_PARTITION] = view.getInt32(valueAt + VECTOR_ROW_PARTITION_AT, true)
    words[meta + META_WRITE_EPOCH] = 0
    doubles[(meta + META_OFFSET) >> 1] = view.getFloat64(valueAt + VECTOR_ROW_OFFSET_AT, true)
    const eventTime = view.getFloat64(valueAt + VECTOR_ROW_EVENT_TIME_AT, true)
    doubles[(meta + META_EVENT_TIME) >> 1] = eventTime
    const from = valueAt + VECTOR_ROW_HEADER_BYTES
    const to = rows.floatsOf(row)
    const { sums } = this
    for (let i = 0; i < sums.length; i++) {
      const x = view.getFloat32(from + 4 * i, true)
      floats[to + i] = x
      sums[i]! += x
    }
  }
}
