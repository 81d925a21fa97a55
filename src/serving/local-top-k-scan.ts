import { topKTriples, writeTopKQueries } from '../kernels/kernels.ts'
import { SCRATCH_TRIPLES } from '../state/row-table-layout.ts'
import type { RowTableReader } from '../state/row-table-reader.ts'
import { kernelsFor } from './local-kernels.ts'
import type { TopKHeap } from './local-top-k-heap.ts'
import { TopKScreen } from './local-top-k-screen.ts'
import { floatAtMost } from './local-top-k-shadow.ts'
import type { TopKShadows } from './local-top-k-shadows.ts'

/** Tries per row before its writer counts as stalled; the last state read is then left out. */
const ROW_ATTEMPTS = 10_000

/**
 * Scores up to 16 queries against the live rows of one table, segment by segment, so that a pass can
 * be cut into short turns. A segment is a dense block for the SIMD kernel; what it found counts only
 * if the segment's change counter stayed the same, otherwise the rows are scored one by one under
 * their sequence words. Where all scratch areas are taken, one by one as well. With `shadows`, most
 * segments are only screened, see `TopKScreen`.
 */
export class TopKScan {
  private readonly reader: RowTableReader
  private readonly heaps: readonly TopKHeap[]
  private segment = 0
  private readonly key: Uint8Array
  private readonly found: { heap: TopKHeap; score: number; at: number; length: number }[] = []
  private foundKeys: Uint8Array
  private readonly screen: TopKScreen | undefined

  constructor(reader: RowTableReader, heaps: readonly TopKHeap[], shadows?: TopKShadows) {
    this.reader = reader
    this.heaps = heaps
    const shadow = shadows?.of(reader)
    if (shadow !== undefined) {
      this.screen = TopKScreen.begin(shadow, shadows!, heaps, (heap, row) => this.score(heap, row))
    }
    this.key = new Uint8Array(reader.layout.maxKeyBytes)
    this.foundKeys = new Uint8Array(64 * reader.layout.maxKeyBytes)
  }

  /** Scans segments until `until()` says stop; true when the table is done. */
  run(until: () => boolean): boolean {
    const { reader } = this
    const scratch = reader.takeScratch()
    try {
      if (scratch >= 0) this.writeQueries(scratch)
      while (this.segment < reader.segments) {
        const segment = this.segment++
        if (!reader.hasRows(segment)) continue
        if (this.screen?.run(segment) !== true) this.scanSegment(segment, scratch)
        if (until()) break
      }
    } finally {
      if (scratch >= 0) reader.releaseScratch(scratch)
    }
    return this.segment >= reader.segments
  }

  /** Scores all rows of a segment. */
  private scanSegment(segment: number, scratch: number): void {
    if (scratch >= 0) this.writeThresholds(scratch)
    this.scanRows(segment, scratch < 0 ? 0 : this.scanBlock(segment, scratch))
  }

  private writeQueries(scratch: number): void {
    const vectors = this.heaps.map((heap) => heap.query.vector)
    writeTopKQueries(this.reader.share.memory, scratch, SCRATCH_TRIPLES, vectors)
    this.writeThresholds(scratch)
  }

  private writeThresholds(scratch: number): void {
    const floats = this.reader.block
    for (let i = 0; i < this.heaps.length; i++)
      floats[(scratch >> 2) + i] = floatAtMost(this.heaps[i]!.threshold)
  }

  /** Scores a block; how many of its rows count: fewer than all when it changed meanwhile. */
  private scanBlock(segment: number, scratch: number): number {
    const { reader } = this
    const { layout } = reader
    const kernels = kernelsFor(reader.share.memory)
    const changes = reader.changesOf(segment)
    if ((changes & 1) !== 0) return 0
    const base = reader.blockOf(segment) * 4
    for (let row = 0; row < layout.rowsPerSegment; ) {
      const scanned = kernels.topKBlock({
        scratch,
        queries: this.heaps.length,
        base: base + row * layout.stride * 4,
        strideBytes: layout.stride * 4,
        rows: layout.rowsPerSegment - row,
        dimension: layout.dimension,
        capacity: SCRATCH_TRIPLES,
      })
      const first = segment * layout.rowsPerSegment + row
      this.collect(first, scratch, kernels.topKWritten(scratch))
      if (reader.changesOf(segment) !== changes) return row
      this.keep()
      this.writeThresholds(scratch)
      row += scanned
    }
    return layout.rowsPerSegment
  }

  /** Copies the keys of the rows that the kernel found. */
  private collect(firstRow: number, scratch: number, triples: number): void {
    const { reader } = this
    const words = reader.memoryWords
    const floats = reader.block
    const maxKeyBytes = reader.layout.maxKeyBytes
    this.found.length = 0
    for (let n = 0, at = topKTriples(scratch) >>> 2; n < triples; n++, at += 3) {
      const row = firstRow + words[at + 1]!
      if (!reader.isLive(row)) continue
      const heap = this.heaps[words[at]!]!
      const score = floats[at + 2]!
      if (score <= heap.threshold) continue
      const keyAt = this.found.length * maxKeyBytes
      if (keyAt + maxKeyBytes > this.foundKeys.length) this.growKeys()
      const length = reader.keyInto(row, this.foundKeys, keyAt)
      if (heap.accepts(this.foundKeys, keyAt, length)) {
        this.found.push({ heap, score, at: keyAt, length })
      }
    }
  }

  private growKeys(): void {
    const larger = new Uint8Array(this.foundKeys.length * 2)
    larger.set(this.foundKeys)
    this.foundKeys = larger
  }

  private keep(): void {
    for (const { heap, score, at, length } of this.found) {
      heap.offer(score, this.foundKeys, at, length)
    }
  }

  private scanRows(segment: number, from: number): void {
    const { rowsPerSegment } = this.reader.layout
    const first = segment * rowsPerSegment
    for (let row = first + from; row < first + rowsPerSegment; row++) this.scanRow(row)
  }

  private scanRow(row: number): void {
    for (const heap of this.heaps) this.score(heap, row)
  }

  private score(heap: TopKHeap, row: number): void {
    const { reader, key } = this
    for (let attempt = 0; attempt < ROW_ATTEMPTS; attempt++) {
      const sequence = reader.openRow(row)
      if ((sequence & 1) !== 0) continue
      if (!reader.isLive(row)) break
      const score = reader.rawDot(row, heap.query.vector, 0)
      const length = score > heap.threshold ? reader.keyInto(row, key, 0) : 0
      if (!reader.unchanged(row, sequence)) continue
      if (length > 0 && heap.accepts(key, 0, length)) heap.offer(score, key, 0, length)
      break
    }
  }
}
