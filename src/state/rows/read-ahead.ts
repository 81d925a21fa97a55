import type { RowTableReader } from './reader.ts'
import { touchRow } from './touch-row.ts'

/**
 * Loads rows that are about to be read into the processor's cache. A row in a large table costs four or
 * five trips to memory, one after the other: index, header, floats. For many rows at once (group
 * prefetching: Chen, Ailamaki, Gibbons and Mowry, "Improving Hash Join Performance through
 * Prefetching", 2004) the trips of different rows overlap. Each loop is short, so that the processor
 * has the loads of several rounds under way. A hint alone: the read that follows checks everything.
 */
export class RowReadAhead {
  private readonly readers: (RowTableReader | undefined)[] = []
  private readonly hashes: Int32Array
  /** Row numbers, -1 if none is known. */
  private readonly rows: Int32Array
  private readonly slots: Int32Array
  private readonly headers: Int32Array
  private readonly floats: Int32Array
  private count = 0
  /** Sum of what was loaded, so that the compiler does not remove the loads. */
  private sink = 0

  /** `capacity` = most rows of one run. */
  constructor(capacity: number) {
    this.hashes = new Int32Array(capacity)
    this.rows = new Int32Array(capacity)
    this.slots = new Int32Array(capacity)
    this.headers = new Int32Array(capacity)
    this.floats = new Int32Array(capacity)
  }

  /** Forgets all rows. */
  begin(): void {
    this.count = 0
  }

  /** Adds the row with this murmur3 hash (as int32), if there is a table that would have it. */
  add(reader: RowTableReader | undefined, hash: number): void {
    const at = this.count++
    this.readers[at] = reader
    this.hashes[at] = hash
    this.slots[at] = reader === undefined ? 0 : reader.indexSlotOf(hash)
  }

  /** Table of the `at`th row that was added. */
  readerAt(at: number): RowTableReader | undefined {
    return this.readers[at]
  }

  /** Its hash. */
  hashAt(at: number): number {
    return this.hashes[at]!
  }

  /** Its likely row number after `run`, for `RowTableReader.findAt`; -1 if none is known. */
  rowAt(at: number): number {
    return this.rows[at]!
  }

  /** Loads what was added. */
  run(): void {
    this.loadIndex()
    this.locate()
    this.loadRows()
  }

  private loadIndex(): void {
    const { readers, slots, count } = this
    let sum = 0
    for (let n = 0; n < count; n++) {
      const reader = readers[n]
      if (reader !== undefined) sum += reader.memoryWords[slots[n]!]! & 1
    }
    this.sink = (this.sink + sum) | 0
  }

  private locate(): void {
    const { readers, slots, hashes, rows, headers, floats, count } = this
    for (let n = 0; n < count; n++) {
      const reader = readers[n]
      const row = reader === undefined ? -1 : reader.candidateAt(slots[n]!, hashes[n]!)
      rows[n] = row
      if (row < 0) continue
      headers[n] = reader!.headerOf(row)
      floats[n] = reader!.floatsOf(row)
    }
  }

  private loadRows(): void {
    const { readers, rows, headers, floats, count } = this
    let sum = 0
    for (let n = 0; n < count; n++) {
      if (rows[n]! < 0) continue
      const reader = readers[n]!
      sum ^= touchRow(reader.memoryWords, headers[n]!, floats[n]!, reader.layout.stride)
    }
    this.sink ^= sum
  }
}
