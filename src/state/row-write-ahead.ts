import type { RowTable } from './row-table.ts'
import { INDEX_MULTIPLIER } from './row-table-layout.ts'

/** Words of a cache line. */
const LINE_WORDS = 16
/** A table below this size lies in the cache anyway. */
const SMALLEST_TABLE_BYTES = 4 * 1024 * 1024
/** Index entries looked at for a hash. */
const PROBES = 4
const MOST_ROWS = 64

/**
 * Brings the rows of the next records into the processor's cache before they are written, in step, so
 * that the trips to memory of different rows overlap; see `RowReadAhead`, which does it for readers.
 * What it reads decides nothing.
 */
export class RowWriteAhead {
  private readonly slots = new Int32Array(MOST_ROWS)
  private readonly headers = new Int32Array(MOST_ROWS)
  private readonly floats = new Int32Array(MOST_ROWS)
  /** What was loaded goes here, so that the loads are not left out. */
  private sink = 0

  /** Loads rows with these hashes (murmur3 as int32); what is beyond 64 is left where it is. */
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
    const { headerWords, stride } = table.layout
    let sum = 0
    for (let n = 0; n < count; n++) {
      const header = headers[n]!
      // A header may lie in two lines.
      sum += (words[header]! & 1) + (words[header + headerWords - 1]! & 1)
      const first = floats[n]!
      const last = first + stride - 1
      for (let at = first; at < last; at += LINE_WORDS) sum += words[at]! & 1
      sum += words[last]! & 1
    }
    this.sink = (this.sink + sum) | 0
  }
}
