import { type Kernels, topKTriples, writeTopKQueries } from './kernels.ts'
import type { TopKHeap } from './top-k-heap.ts'

/** A run of rows at a constant stride in the kernels' memory. */
export interface TopKRows {
  /** Address of the first row's first float. */
  readonly base: number
  readonly strideBytes: number
  readonly rows: number
  /** What the first row is called in the heaps; the others count on from it. */
  readonly firstRow: number
}

/** Where the kernels may write: `topKScratchBytes(dimension, capacity)` bytes at `address`. */
export interface TopKScratch {
  readonly address: number
  readonly capacity: number
}

/**
 * Looks at a row that beat a query's threshold and answers the score to rank it with, or NaN to
 * leave it out (not live, or torn by its writer). `row` counts from the block's first row.
 */
export type TopKAccept = (query: number, row: number, score: number) => number

/** Rows of the first block: few, since without a threshold every one of them is written out. */
const FIRST_BLOCK = 64
/** Rows after which thresholds are raised at the latest. */
const LAST_BLOCK = 8192

/**
 * Offers the rows that can be among the best of each query (1 to 16) to its heap. Blocks double, so
 * that each brings about k candidates. Heaps that hold rows of earlier blocks or tables go on from
 * their thresholds.
 *
 * Scores of the kernels depend in their last bits on how many queries run together; an `accept` that
 * answers `kernels.dot` makes a result equal to a prediction to the bit. Rows that tie with the
 * k-th best are kept in order of the scan.
 */
export function scanTopK(
  kernels: Kernels,
  scratch: TopKScratch,
  queries: readonly Float32Array[],
  heaps: readonly TopKHeap[],
  block: TopKRows,
  accept?: TopKAccept,
): void {
  writeTopKQueries(kernels.memory, scratch.address, scratch.capacity, queries)
  const thresholds = new Float32Array(kernels.memory.buffer, scratch.address, queries.length)
  const triples = topKTriples(scratch.address)
  const words = new Uint32Array(kernels.memory.buffer, triples, scratch.capacity * 3)
  const scores = new Float32Array(kernels.memory.buffer, triples, scratch.capacity * 3)
  const dimension = queries[0]?.length ?? 0
  let blockRows = FIRST_BLOCK
  for (let done = 0; done < block.rows; ) {
    for (let q = 0; q < queries.length; q++) thresholds[q] = (heaps[q] as TopKHeap).threshold
    const scanned = kernels.topKBlock({
      scratch: scratch.address,
      queries: queries.length,
      base: block.base + done * block.strideBytes,
      strideBytes: block.strideBytes,
      rows: Math.min(blockRows, block.rows - done),
      dimension,
      capacity: scratch.capacity,
    })
    const written = kernels.topKWritten(scratch.address)
    for (let at = 0; at < written * 3; at += 3) {
      const query = words[at] as number
      const row = done + (words[at + 1] as number)
      const score = scores[at + 2] as number
      const ranked = accept === undefined ? score : accept(query, row, score)
      if (!Number.isNaN(ranked)) (heaps[query] as TopKHeap).offer(block.firstRow + row, ranked)
    }
    done += scanned
    blockRows = Math.min(blockRows * 2, LAST_BLOCK)
  }
}
