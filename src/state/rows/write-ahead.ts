import { INDEX_MULTIPLIER } from './layout.ts'
import type { RowTable } from './row-table.ts'
import { touchRow } from './touch-row.ts'

/** A smaller table is in the processor's cache anyway. */
const SMALLEST_TABLE_BYTES = 4 * 1024 * 1024
/** Index entries looked at for a hash. */
const PROBES = 4
const MOST_ROWS = 64

/**
 * Loads the rows of the next records into the processor's cache before they are written, all at once, so
 * that the trips to memory of different rows overlap. `RowReadAhead` does the same for readers; both over
 * one interface took 40 % longer per row. A hint alone: no result depends on it.
 */
export class RowWriteAhead {
  private readonly slots = new Int32Array(MOST_ROWS)
  private readonly headers = new Int32Array(MOST_ROWS)
  private readonly floats = new Int32Array(MOST_ROWS)
  /** Sum of what was loaded, so that the compiler does not remove the loads. */
  private sink = 0

  /** Loads rows with these hashes (murmur3 as int32); the first 64 of them. */
  run(table: RowTable, hashes: Int32Array, count: number): void {
    if (table.allocatedBytes < SMALLEST_TABLE_BYTES) return
    const most = Math.min(count, MOST_ROWS)
    this.loadIndex(table, hashes, most)
    this.loadRows(table, this.locate(table, hashes, most))
  }

  private loadIndex(table: RowTable, hashes: Int32Array, count: number): void {
    const { words } = table.arena
    const { address, shift } = table.index
    const { slots } = this
    let sum = 0
    for (let n = 0; n < count; n++) {
      const slot = address + 2 * (Math.imul(hashes[n]!, INDEX_MULTIPLIER) >>> shift)
      slots[n] = slot
      sum += words[slot]! & 1
    }
    this.sink = (this.sink + sum) | 0
  }

  /** Finds the likely rows; how many there are. */
  private locate(table: RowTable, hashes: Int32Array, count: number): number {
    const { words } = table.arena
    const { slots, headers, floats } = this
    let found = 0
    for (let n = 0; n < count; n++) {
      const hash = hashes[n]!
      let slot = slots[n]!
      for (let probe = 0; probe < PROBES; probe++, slot += 2) {
        const entry = words[slot + 1]!
        if (entry === 0) break
        if (words[slot] !== hash) continue
        headers[found] = table.headerOf(entry - 1)
        floats[found] = table.floatsOf(entry - 1)
        found += 1
        break
      }
    }
    return found
  }

  private loadRows(table: RowTable, count: number): void {
    const { words } = table.arena
    const { headers, floats } = this
    const { stride } = table.layout
    let sum = 0
    for (let n = 0; n < count; n++) sum ^= touchRow(words, headers[n]!, floats[n]!, stride)
    this.sink ^= sum
  }
}
