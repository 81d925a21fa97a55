import type { WasmMemory } from '../lifetime/wasm-memory.ts'
import { exportsOver } from './exports-over.ts'
import { compiledKernels } from './instantiate.ts'
import type { ScreenQuery } from './screen-query.ts'

/** Queries that one call of `screen` takes. */
export const SCREEN_LANES = 4

/** Rows of a block of codes are a multiple of this. */
export const SCREEN_ROWS = 16

/** Bytes of a query's head: all but its codes. */
const HEAD_BYTES = 32
const HEAD_THRESHOLD = 4
const HEAD_FOUND = 5

/**
 * Places of the parts of a query group: byte offsets into the memory, multiples of 16. Each part is an
 * array over the group's queries.
 */
export interface ScreenQueries {
  /** `SCREEN_LANES` x 32 bytes. */
  readonly heads: number
  /** `SCREEN_LANES` x `screenWidth(dimension)` x 4 bytes. */
  readonly codes: number
}

/** A block of coded rows: byte offsets into the memory, multiples of 16. */
export interface ScreenBlock {
  /** `rows` x `screenWidth(dimension)` bytes. */
  readonly codes: number
  /** `rows` x 12 bytes. */
  readonly bounds: number
  /** A multiple of `SCREEN_ROWS`. */
  readonly rows: number
}

/** Exports of the module. */
interface RawScreenKernels {
  screenEncode(row: number, n: number, codes: number, bounds: number, rows: number): void
  screenErase(bounds: number, rows: number): void
  screenOpen(bounds: number, rows: number): void
  screenOne: RawScreen
  screenFour: RawScreen
  topKFourRows(
    query: number,
    r0: number,
    r1: number,
    r2: number,
    r3: number,
    n: number,
    out: number,
  ): void
}

type RawScreen = (
  query: number,
  coded: number,
  codes: number,
  bounds: number,
  rows: number,
  n: number,
  list: number,
) => void

/** `dimension` rounded up to a multiple of four: bytes of a row's codes. */
export function screenWidth(dimension: number): number {
  return (dimension + 3) & ~3
}

/**
 * The kernels of top-k screening over a memory: rows become codes and an upper bound of their score
 * with any query, `screen` lists the rows whose bound beats a threshold. As for `Kernels`, nothing is
 * checked. `assembly/top-k-screen.as.ts` has the mathematics.
 */
export class ScreenKernels {
  readonly memory: WasmMemory
  private readonly raw: RawScreenKernels
  private readonly dimension: number
  private readonly width: number

  constructor(memory: WasmMemory, dimension: number) {
    this.memory = memory
    this.dimension = dimension
    this.width = screenWidth(dimension)
    this.raw = exportsOver(compiledKernels(), 'env', { memory }) as unknown as RawScreenKernels
  }

  /** Codes the floats at `floats` (padded to a multiple of four) as row `row` of a block. */
  encode(floats: number, block: ScreenBlock, row: number): void {
    const codes = block.codes + (row >> 2) * 4 * this.width + (row & 3) * 4
    this.raw.screenEncode(floats, this.dimension, codes, block.bounds + row * 4, block.rows)
  }

  /** Marks row `row` of a block as empty: it is never found. */
  erase(block: ScreenBlock, row: number): void {
    this.raw.screenErase(block.bounds + row * 4, block.rows)
  }

  /** Marks row `row` of a block as unknown: it is always found. */
  open(block: ScreenBlock, row: number): void {
    this.raw.screenOpen(block.bounds + row * 4, block.rows)
  }

  /** Writes a query to place `lane` of a group; an undefined one never finds anything. */
  writeQuery(at: ScreenQueries, lane: number, query: ScreenQuery | undefined): void {
    const head = at.heads + lane * HEAD_BYTES
    const floats = new Float32Array(this.memory.buffer, head, HEAD_BYTES / 4)
    const codes = new Int8Array(
      this.memory.buffer,
      at.codes + lane * 4 * this.width,
      4 * this.width,
    )
    floats.fill(0)
    floats[HEAD_THRESHOLD] = Number.POSITIVE_INFINITY
    codes.fill(0)
    if (query === undefined) return
    new Int32Array(this.memory.buffer, head, 1)[0] = query.centre
    floats.set([query.step, query.normFactor, query.errorFactor], 1)
    for (let d = 0; d < query.codes.length; d++) {
      const first = (d >> 2) * 16 + (d & 3)
      for (let copy = 0; copy < 4; copy++) codes[first + copy * 4] = query.codes[d]!
    }
  }

  /** Word of a query's threshold (float32). */
  thresholdWord(at: ScreenQueries, lane: number): number {
    return (at.heads + lane * HEAD_BYTES) / 4 + HEAD_THRESHOLD
  }

  /** Word of the number of rows that the last `screen` found for a query. */
  foundWord(at: ScreenQueries, lane: number): number {
    return (at.heads + lane * HEAD_BYTES) / 4 + HEAD_FOUND
  }

  /**
   * Lists, for each of the first `queries` queries of the group, the rows of the block whose bound
   * beats its threshold: `rows` words for each query from `lists` on.
   */
  screen(at: ScreenQueries, queries: number, block: ScreenBlock, lists: number): void {
    const scan = queries === 1 ? this.raw.screenOne : this.raw.screenFour
    const { codes, bounds, rows } = block
    scan(at.heads, at.codes, codes, bounds, rows, this.dimension, lists)
  }

  /**
   * Scores of a query (padded with zeros) against the four rows from `rows` on, `width` floats apart,
   * into four floats at `out`: the same scores as those of `topKBlock` for one query.
   */
  scoreFour(query: number, rows: number, out: number): void {
    const bytes = this.width * 4
    const [r1, r2, r3] = [rows + bytes, rows + 2 * bytes, rows + 3 * bytes]
    this.raw.topKFourRows(query, rows, r1, r2, r3, this.dimension, out)
  }
}
