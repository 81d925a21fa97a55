import type { RowTableReader } from './row-table-reader.ts'

/** Words of a cache line. */
const LINE_WORDS = 16

/**
 * Brings rows that are about to be read into the processor's cache. A row in a large table costs four
 * or five trips to memory one after the other: index, header, floats. Done for many rows in step
 * (group prefetching: Chen, Ailamaki, Gibbons and Mowry, "Improving Hash Join Performance through
 * Prefetching", 2004) the trips of different rows overlap. Plain loads do, for JavaScript has no
 * prefetch; each loop is short, so that the processor holds the loads of several rounds at a time.
 * What it reads decides nothing: the read that follows looks at everything again.
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
  /** What was loaded goes here, so that the loads are not left out. */
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
      const words = reader.memoryWords
      const header = headers[n]!
      // A header may lie in two lines.
      sum += (words[header]! & 1) + (words[header + LINE_WORDS - 1]! & 1)
      const first = floats[n]!
      const last = first + reader.layout.stride - 1
      for (let at = first; at < last; at += LINE_WORDS) sum += words[at]! & 1
      sum += words[last]! & 1
    }
    this.sink = (this.sink + sum) | 0
  }
}
