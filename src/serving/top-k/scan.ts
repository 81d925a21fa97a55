import { kernelsFor } from '../../core/kernels/by-memory.ts'
import { topKTriples, writeTopKQueries } from '../../core/kernels/top-k-scratch.ts'
import { SCRATCH_TRIPLES } from '../../state/rows/layout.ts'
import type { RowTableReader } from '../../state/rows/reader.ts'
import { dividedByNorm, type TopKHeap } from './heap.ts'
import { type FoundRow, type ScreenedScan, TopKScreen } from './screen.ts'
import { floatAtMost } from './shadow.ts'
import type { TopKShadows } from './shadows.ts'
import { boosted } from './tag-boosts.ts'
import type { TagColumn, TagColumns } from './tag-column.ts'

/** Tries to read a row before its writer counts as stalled; the row is then left out. */
const ROW_ATTEMPTS = 10_000
/** Rows that are scored one by one in a step. */
const STEP_ROWS = 256

/** Rules that allow at most one row in this many: it is cheaper to score those than to screen all. */
const FEW_SHARE = 32

/** Rows of the block that this thread scores, as the kernel found them: valid within one step. */
const found = {
  count: 0,
  queries: new Int32Array(SCRATCH_TRIPLES),
  scores: new Float64Array(SCRATCH_TRIPLES),
  lengths: new Int32Array(SCRATCH_TRIPLES),
  /** Row n's key begins at n times the longest key of its table. */
  keys: new Uint8Array(0),
}

function growKeys(least: number): void {
  const larger = new Uint8Array(Math.max(2 * least, 4096))
  larger.set(found.keys)
  found.keys = larger
}

/** What a thread keeps of the tables that it scans. */
export interface TopKCaches {
  /** Codes of rows, for screening. @default every row is scored */
  readonly shadows?: TopKShadows
  /** Tags of rows. @default rules look up each row that would enter a list */
  readonly columns?: TagColumns
}

/**
 * Scores up to 16 queries against the live rows of one table, in steps of some hundred microseconds, so
 * that a pass can be cut into short turns. A segment is a dense block for the SIMD kernel, whose results
 * count only if the segment's change counter stays the same. Otherwise, and where no scratch area is free,
 * rows are scored one by one under their sequence words. With `shadows`, most segments are only screened;
 * see `TopKScreen`. Scores that are divided by norms are computed row by row: neither codes nor the kernel
 * have the norms. The queries of one scan are all of one kind. Those with rules over tags look at the tags of a row
 * before anything else of it; while such a query has fewer than k rows, only rows that its rules allow are scored.
 */
export class TopKScan {
  private readonly reader: RowTableReader
  private readonly heaps: readonly TopKHeap[]
  private segment = 0
  /** The next row of the segment. */
  private row = 0
  /** Whether the segment has changed during the pass: its other rows are scored one by one. */
  private changed = false
  private readonly key: Uint8Array
  private readonly screen: TopKScreen | undefined
  private readonly hasNorms: boolean
  /** Tags of the rows, if a query has rules. */
  private readonly column: TagColumn | undefined
  private readonly refreshing: Iterator<void> | undefined
  private isRefreshed: boolean
  /** Whether the tags of the segment's rows are known. */
  private isTagged = false
  /** By query, whether its rows of the segment have been scored one by one. */
  private readonly listed: boolean[]
  /** By query, whether its rules allowed few rows of the last segment that it listed. */
  private readonly few: boolean[]

  constructor(
    reader: RowTableReader,
    heaps: readonly TopKHeap[],
    { shadows, columns }: TopKCaches = {},
  ) {
    this.reader = reader
    this.heaps = heaps
    this.listed = heaps.map(() => false)
    this.few = heaps.map(() => false)
    const tags = heaps.find((heap) => heap.query.tags !== undefined)?.query.tags?.tags
    this.column = tags === undefined ? undefined : columns?.of(reader, tags)
    this.refreshing = this.column?.refreshing()
    this.isRefreshed = this.refreshing === undefined
    this.hasNorms = heaps.some(({ query }) => query.normColumns !== undefined)
    const shadow = this.hasNorms ? undefined : shadows?.of(reader)
    if (shadow !== undefined && shadows !== undefined) {
      const scan: ScreenedScan = {
        score: (heap, row) => this.score(heap, row),
        accepts: (heap, key, length) => this.accepts(heap, key, 0, length),
        boosted: (heap, found) => this.boosted(heap, found),
        threshold: (query) => this.thresholdOf(query),
        allows: (query, row) => this.allows(query, row),
      }
      this.screen = TopKScreen.begin({ shadow, shadows, heaps, scan })
    }
    this.key = new Uint8Array(reader.layout.maxKeyBytes)
  }

  /** Scans until `until()` is true, at least one step; returns whether the table is done. */
  run(until: () => boolean): boolean {
    const { reader } = this
    while (!this.isRefreshed) {
      this.isRefreshed = this.refreshing?.next().done !== false
      if (until()) return false
    }
    const scratch = this.hasNorms ? -1 : reader.takeScratch()
    try {
      if (scratch >= 0) this.writeQueries(scratch)
      while (this.segment < reader.segments) {
        this.step(scratch)
        if (until()) break
      }
    } finally {
      if (scratch >= 0) reader.releaseScratch(scratch)
    }
    return this.segment >= reader.segments
  }

  /** Screens the next segment, or scores some of its rows. */
  private step(scratch: number): void {
    const { reader, segment } = this
    const isDone =
      this.row === 0 &&
      (!reader.hasRows(segment) || this.listRows(segment) || this.screen?.run(segment) === true)
    if (!isDone) {
      this.changed ||= scratch < 0 || !this.scanBlock(segment, scratch)
      if (this.changed) this.scanRows(segment)
      if (this.row < reader.layout.rowsPerSegment) return
    }
    this.segment++
    this.row = 0
    this.changed = false
  }

  /**
   * Scores the rows that the rules allow, and no others, for each query whose rules allow few, or that has fewer than k
   * rows and so no threshold yet. True when no query is left.
   */
  private listRows(segment: number): boolean {
    const { column, heaps, listed, reader } = this
    if (column === undefined) return false
    this.isTagged = column.prepare(segment)
    const first = segment * reader.layout.rowsPerSegment
    for (let query = 0; query < heaps.length; query++) {
      const heap = heaps[query]!
      const { tags } = heap.query
      listed[query] = tags !== undefined && this.isTagged && (this.few[query] || !heap.isFull)
      if (!listed[query]) continue
      let scored = 0
      for (let row = first; row < first + reader.layout.rowsPerSegment; row++) {
        if (!column.allows(row, tags!.masks)) continue
        this.score(heap, row)
        scored++
      }
      this.few[query] = scored * FEW_SHARE <= reader.layout.rowsPerSegment
    }
    return !listed.includes(false)
  }

  /** Whether the rules of a query allow a row of the segment, as far as its tags are known. */
  private allows(query: number, row: number): boolean {
    const { tags } = this.heaps[query]!.query
    return tags === undefined || !this.isTagged || this.column!.allows(row, tags.masks)
  }

  /**
   * Whether a row of the segment that the rules allowed may be a result. Its tags are looked up only where rows of the
   * segment have got keys since: the row may have another key than it had then.
   */
  private accepts(heap: TopKHeap, key: Uint8Array, at: number, length: number): boolean {
    if (heap.query.tags === undefined || !this.isTagged) return heap.accepts(key, at, length)
    const isSame = this.column!.isCurrent(this.segment)
    return isSame ? heap.names(key, at, length) : heap.accepts(key, at, length)
  }

  /** The score of a row of the segment with the boosts of its tags, which are looked up where `accepts` looks them up. */
  private boosted(heap: TopKHeap, { score, row, key, at, length }: FoundRow): number {
    const { tags } = heap.query
    if (tags?.boosts === undefined) return score
    const isHere = this.isTagged && this.column!.isCurrent(this.segment)
    const factor = isHere ? this.column!.factorOf(row, tags.boosts) : tags.factorOf(key, at, length)
    return boosted(score, factor)
  }

  /** The score that a row of the segment must beat, boosts left out, to be of use for a query. */
  private thresholdOf(query: number): number {
    return this.listed[query] ? Number.POSITIVE_INFINITY : this.heaps[query]!.bound
  }

  private writeQueries(scratch: number): void {
    const vectors = this.heaps.map((heap) => heap.query.vector)
    writeTopKQueries(this.reader.share.memory, scratch, SCRATCH_TRIPLES, vectors)
  }

  private writeThresholds(scratch: number): void {
    const floats = this.reader.block
    for (let i = 0; i < this.heaps.length; i++)
      floats[(scratch >> 2) + i] = floatAtMost(this.thresholdOf(i))
  }

  /** Scores rows of a block until the scratch area is full; false when the block has changed. */
  private scanBlock(segment: number, scratch: number): boolean {
    const { reader, row } = this
    const { layout } = reader
    const kernels = kernelsFor(reader.share.memory)
    const changes = reader.changesOf(segment)
    if ((changes & 1) !== 0) return false
    this.writeThresholds(scratch)
    const scanned = kernels.topKBlock({
      scratch,
      queries: this.heaps.length,
      base: reader.blockOf(segment) * 4 + row * layout.stride * 4,
      strideBytes: layout.stride * 4,
      rows: layout.rowsPerSegment - row,
      dimension: layout.dimension,
      capacity: SCRATCH_TRIPLES,
    })
    this.collect(segment * layout.rowsPerSegment + row, scratch, kernels.topKWritten(scratch))
    if (reader.changesOf(segment) !== changes) return false
    this.keep()
    this.row += scanned
    return true
  }

  /** Copies the keys of the rows that the kernel found. */
  private collect(firstRow: number, scratch: number, triples: number): void {
    const { reader } = this
    const words = reader.memoryWords
    const floats = reader.block
    const maxKeyBytes = reader.layout.maxKeyBytes
    found.count = 0
    for (let n = 0, at = topKTriples(scratch) >>> 2; n < triples; n++, at += 3) {
      const row = firstRow + words[at + 1]!
      const query = words[at]!
      if (this.column !== undefined && !this.allows(query, row)) continue
      if (!reader.isLive(row)) continue
      const heap = this.heaps[query]!
      const score = floats[at + 2]!
      if (score <= heap.bound) continue
      const n = found.count
      const keyAt = n * maxKeyBytes
      if (keyAt + maxKeyBytes > found.keys.length) growKeys(keyAt + maxKeyBytes)
      const length = reader.keyInto(row, found.keys, keyAt)
      if (!this.accepts(heap, found.keys, keyAt, length)) continue
      found.queries[n] = query
      found.scores[n] = this.boosted(heap, { score, row, key: found.keys, at: keyAt, length })
      found.lengths[n] = length
      found.count = n + 1
    }
  }

  private keep(): void {
    const { maxKeyBytes } = this.reader.layout
    const { count, queries, scores, lengths, keys } = found
    for (let n = 0; n < count; n++) {
      this.heaps[queries[n]!]!.offer(scores[n]!, keys, n * maxKeyBytes, lengths[n]!)
    }
  }

  /** Scores the next rows one by one. */
  private scanRows(segment: number): void {
    const { rowsPerSegment } = this.reader.layout
    const first = segment * rowsPerSegment
    const end = Math.min(rowsPerSegment, this.row + STEP_ROWS)
    for (; this.row < end; this.row++) this.scanRow(first + this.row)
  }

  private scanRow(row: number): void {
    for (let query = 0; query < this.heaps.length; query++) {
      if (!this.listed[query] && this.allows(query, row)) this.score(this.heaps[query]!, row)
    }
  }

  private score(heap: TopKHeap, row: number): void {
    const { reader, key } = this
    for (let attempt = 0; attempt < ROW_ATTEMPTS; attempt++) {
      const sequence = reader.openRow(row)
      if ((sequence & 1) !== 0) continue
      if (!reader.isLive(row)) break
      const { vector, normColumns } = heap.query
      const dot = reader.rawDot(row, vector, 0)
      const score =
        normColumns === undefined ? dot : dividedByNorm(dot, reader.rawSquares(row, normColumns))
      const length = score > heap.bound ? reader.keyInto(row, key, 0) : 0
      if (!reader.unchanged(row, sequence)) continue
      if (length > 0 && this.accepts(heap, key, 0, length)) {
        heap.offer(this.boosted(heap, { score, row, key, at: 0, length }), key, 0, length)
      }
      break
    }
  }
}
