import {
  SCREEN_LANES,
  SCREEN_ROWS,
  type ScreenBlock,
  ScreenKernels,
  type ScreenQueries,
  screenWidth,
} from '../../core/kernels/screen-kernels.ts'
import type { ScreenQuery } from '../../core/kernels/screen-query.ts'
import { MAX_TOP_K_QUERIES } from '../../core/kernels/top-k-scratch.ts'
import { PARTS } from '../../state/rows/layout.ts'
import type { RowTableReader } from '../../state/rows/reader.ts'

const PAGE_BYTES = 65536
const GROWTH_PAGES = 16
const MAX_PAGES = 65536
/** Rows that are copied together when a segment is coded. */
const STAGED_ROWS = 64
/** Sequence of a row without valid codes; the sequence of a row that is not being written is even. */
const UNKNOWN = -1

const alignUp = (bytes: number): number => (bytes + 15) & ~15

/** The codes of one segment, with the counters and sequence words that they were made under. */
interface CodedSegment extends ScreenBlock {
  /** The segment's change counter. */
  changes: number
  /** [PARTS] */
  readonly parts: Int32Array
  /** [rows per segment] */
  readonly sequences: Int32Array
}

/**
 * A reading thread's codes of the rows of one table (`ScreenKernels`), in a separate memory, with the
 * sequence words that they were made under. It is a cache: a segment may have no codes, and codes
 * describe a row as it was at the last refresh.
 */
export class TopKShadow {
  readonly reader: RowTableReader
  private readonly kernels: ScreenKernels
  private readonly segments: (CodedSegment | undefined)[] = []
  /** Change counters at the last pass, by segment. */
  private readonly seen: (number | undefined)[] = []
  private readonly groups: readonly ScreenQueries[]
  private readonly lists: number
  private readonly queries: number
  private readonly staging: number
  private readonly scores: number
  private readonly width: number
  private readonly blockRows: number
  private readonly stagedRows: number
  private words: Int32Array
  private floats: Float32Array
  private next = 0
  /** Segments with codes. */
  private coded = 0

  constructor(reader: RowTableReader) {
    const { dimension, rowsPerSegment } = reader.layout
    this.reader = reader
    this.width = screenWidth(dimension)
    this.blockRows = Math.max(SCREEN_ROWS, rowsPerSegment)
    this.stagedRows = Math.max(4, Math.min(STAGED_ROWS, rowsPerSegment))
    const memory = new WebAssembly.Memory({ initial: 1, maximum: MAX_PAGES, shared: true })
    this.kernels = new ScreenKernels(memory, dimension)
    this.words = new Int32Array(memory.buffer)
    this.floats = new Float32Array(memory.buffer)
    this.groups = Array.from({ length: MAX_TOP_K_QUERIES / SCREEN_LANES }, () => ({
      heads: this.allocate(SCREEN_LANES * 32),
      codes: this.allocate(SCREEN_LANES * 4 * this.width),
    }))
    this.lists = this.allocate(MAX_TOP_K_QUERIES * 4 * this.blockRows)
    this.queries = this.allocate(MAX_TOP_K_QUERIES * 4 * this.width)
    this.staging = this.allocate(this.stagedRows * 4 * this.width)
    this.scores = this.allocate(16)
  }

  /** Bytes of memory in use. */
  get bytes(): number {
    return this.words.byteLength + this.coded * this.sequenceBytes
  }

  /** Bytes that `bytes` grows by with the codes of one more segment. */
  get bytesOfNext(): number {
    const { blockRows, width } = this
    const missing = this.next + blockRows * (width + 12) - this.words.byteLength
    return (missing > 0 ? growthOf(missing) * PAGE_BYTES : 0) + this.sequenceBytes
  }

  private get sequenceBytes(): number {
    return 4 * (this.reader.layout.rowsPerSegment + PARTS)
  }

  isCoded(segment: number): boolean {
    return this.segments[segment] !== undefined
  }

  /** Writes in a segment since its codes were made or refreshed. */
  writesSinceCoded(segment: number): number {
    const coded = this.segments[segment]
    return coded === undefined ? 0 : writesBetween(coded.changes, this.reader.changesOf(segment))
  }

  /** Writes in a segment since the last call; Infinity the first time. */
  writesSinceScan(segment: number): number {
    const before = this.seen[segment]
    const now = this.reader.changesOf(segment)
    this.seen[segment] = now
    return before === undefined ? Number.POSITIVE_INFINITY : writesBetween(before, now)
  }

  /** Makes codes for all rows of a segment that has none. */
  encode(segment: number): void {
    const { reader, blockRows } = this
    const { rowsPerSegment } = reader.layout
    const coded: CodedSegment = {
      codes: this.allocate(blockRows * this.width),
      bounds: this.allocate(blockRows * 12),
      rows: blockRows,
      changes: reader.changesOf(segment),
      parts: new Int32Array(PARTS),
      sequences: new Int32Array(rowsPerSegment),
    }
    this.readParts(segment, coded)
    for (let row = 0; row < rowsPerSegment; row += this.stagedRows) {
      this.encodeRows(segment, coded, row, Math.min(this.stagedRows, rowsPerSegment - row))
    }
    for (let row = rowsPerSegment; row < blockRows; row++) this.kernels.erase(coded, row)
    this.segments[segment] = coded
    this.coded++
  }

  /** Codes the rows of a segment that have changed. */
  refresh(segment: number): void {
    const { reader } = this
    const coded = this.segments[segment]!
    const { rowsPerSegment, partShift } = reader.layout
    // Counters are read first: the next refresh finds rows that are written after this.
    coded.changes = reader.changesOf(segment)
    const counters = reader.partChangesAt(segment)
    const words = reader.memoryWords
    for (let part = 0; part < PARTS && part << partShift < rowsPerSegment; part++) {
      const changes = Atomics.load(words, counters + part)
      if (changes === coded.parts[part]) continue
      coded.parts[part] = changes
      this.refreshRows(segment, coded, part << partShift, 1 << partShift)
    }
  }

  private readParts(segment: number, coded: CodedSegment): void {
    const counters = this.reader.partChangesAt(segment)
    const words = this.reader.memoryWords
    for (let part = 0; part < PARTS; part++) {
      coded.parts[part] = Atomics.load(words, counters + part)
    }
  }

  private refreshRows(segment: number, coded: CodedSegment, from: number, count: number): void {
    const { reader } = this
    const words = reader.memoryWords
    const { headerWords, rowsPerSegment } = reader.layout
    const header = reader.headerOf(segment * rowsPerSegment)
    for (let row = from; row < from + count; row++) {
      if (words[header + row * headerWords] === coded.sequences[row]) continue
      this.encodeRows(segment, coded, row, 1)
    }
  }

  /** Codes neighbouring rows; a row that is being written stays UNKNOWN. */
  private encodeRows(segment: number, coded: CodedSegment, from: number, count: number): void {
    const { reader, kernels } = this
    const { stride, rowsPerSegment } = reader.layout
    const first = segment * rowsPerSegment
    for (let row = from; row < from + count; row++) {
      coded.sequences[row] = reader.openRow(first + row)
    }
    const floats = reader.floatsOf(first + from)
    this.floats.set(reader.block.subarray(floats, floats + count * stride), this.staging / 4)
    for (let row = from; row < from + count; row++) {
      const sequence = coded.sequences[row]!
      const live = reader.isLive(first + row)
      if ((sequence & 1) !== 0 || !reader.unchanged(first + row, sequence)) {
        coded.sequences[row] = UNKNOWN
        kernels.open(coded, row)
      } else if (!live) kernels.erase(coded, row)
      else kernels.encode(this.staging + (row - from) * 4 * stride, coded, row)
    }
  }

  /** Writes the queries of a pass, at most 16. */
  writeQueries(vectors: readonly Float32Array[], queries: readonly ScreenQuery[]): void {
    for (let lane = 0; lane < MAX_TOP_K_QUERIES; lane++) {
      const group = this.groups[lane >> 2]!
      this.kernels.writeQuery(group, lane & 3, queries[lane])
      const at = this.queries / 4 + lane * this.width
      this.floats.fill(0, at, at + this.width)
      if (lane < vectors.length) this.floats.set(vectors[lane]!, at)
    }
  }

  /** Rows with a larger bound become candidates of the query. Rounds down to float32. */
  setThreshold(query: number, threshold: number): void {
    const word = this.kernels.thresholdWord(this.groups[query >> 2]!, query & 3)
    this.floats[word] = floatAtMost(threshold)
  }

  /**
   * Screens a coded segment for up to four queries, the first a multiple of four. Returns the number of
   * all their candidates, which stay valid until the next call for the same queries.
   */
  screen(segment: number, from: number, queries: number): number {
    const group = this.groups[from >> 2]!
    const lists = this.lists + from * 4 * this.blockRows
    this.kernels.screen(group, queries, this.segments[segment]!, lists)
    let candidates = 0
    for (let lane = 0; lane < queries; lane++) candidates += this.candidatesOf(from + lane)
    return candidates
  }

  /** Candidates of a query in the last screened segment. */
  candidatesOf(query: number): number {
    return this.words[this.kernels.foundWord(this.groups[query >> 2]!, query & 3)]!
  }

  /** The nth candidate of a query, as a row of the segment. */
  candidate(query: number, n: number): number {
    return this.words[this.lists / 4 + query * this.blockRows + n]!
  }

  /** Drops candidates of a query, as rows of the segment; returns how many. */
  dropCandidates(query: number, isDropped: (row: number) => boolean): number {
    const at = this.lists / 4 + query * this.blockRows
    const count = this.candidatesOf(query)
    let kept = 0
    for (let n = 0; n < count; n++) {
      const row = this.words[at + n]!
      if (!isDropped(row)) this.words[at + kept++] = row
    }
    this.words[this.kernels.foundWord(this.groups[query >> 2]!, query & 3)] = kept
    return count - kept
  }

  /** Copies a row's floats to place 0 to 3 for scoring. The caller checks the row's sequence word. */
  stage(place: number, row: number): void {
    const { reader, width } = this
    const from = reader.floatsOf(row)
    const { block } = reader
    const to = this.staging / 4 + place * width
    for (let i = 0; i < width; i++) this.floats[to + i] = block[from + i]!
  }

  /** Scores the rows at the four places; `scoreAt` has the results. */
  scoreStaged(query: number): void {
    this.kernels.scoreFour(this.queries + query * 4 * this.width, this.staging, this.scores)
  }

  scoreAt(place: number): number {
    return this.floats[this.scores / 4 + place]!
  }

  private allocate(bytes: number): number {
    const address = this.next
    this.next += alignUp(bytes)
    const missing = this.next - this.words.byteLength
    if (missing <= 0) return address
    const { memory } = this.kernels
    memory.grow(growthOf(missing))
    this.words = new Int32Array(memory.buffer)
    this.floats = new Float32Array(memory.buffer)
    return address
  }
}

/** Pages that a memory grows by when it lacks this number of bytes. */
function growthOf(missing: number): number {
  return Math.max(GROWTH_PAGES, Math.ceil(missing / PAGE_BYTES))
}

function writesBetween(before: number, after: number): number {
  return ((after - before) >>> 0) / 2
}

/** The largest float32 that is not greater than `value`. */
export function floatAtMost(value: number): number {
  const nearest = Math.fround(value)
  if (nearest <= value) return nearest
  return Math.fround(nearest - Math.max(Math.abs(nearest) * 0.75 * 2 ** -23, 2 ** -149))
}
