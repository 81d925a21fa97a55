import type { WasmMemory } from '../lifetime/wasm-memory.ts'

/** Most queries that one top-k pass scores together. */
export const MAX_TOP_K_QUERIES = 16

/*
 * Scratch area of topKBlock, address a multiple of 16:
 *
 *   0          64                 64 + 12 capacity, rounded up to 16
 *   +----------+------------------+-------------------------------------------+
 *   | 16 x f32 | capacity triples | queries, all float32, missing ones zero:  |
 *   | threshold| u32 query        | 1 or 4: one after the other, each padded  |
 *   |          | u32 row          |   with zeros to a multiple of four        |
 *   |          | f32 score        | 8 or 16: element-major, side by side      |
 *   +----------+------------------+-------------------------------------------+
 */
const TRIPLES_OFFSET = 64
const TRIPLE_BYTES = 12

const alignUp = (bytes: number): number => (bytes + 15) & ~15

/** Address of the queries. */
export function topKQueries(scratch: number, capacity: number): number {
  return scratch + TRIPLES_OFFSET + alignUp(capacity * TRIPLE_BYTES)
}

/** Bytes of scratch that `topKBlock` needs for 16 queries; place it at a multiple of 16. */
export function topKScratchBytes(dimension: number, capacity: number): number {
  return topKQueries(0, capacity) + alignUp(dimension * 4) * MAX_TOP_K_QUERIES
}

/** Address of the first triple; a triple is three 32-bit words: query, row (u32), score (float32). */
export function topKTriples(scratch: number): number {
  return scratch + TRIPLES_OFFSET
}

/** Queries that the kernel runs for `queries`: 1, 4, 8 or 16; the missing ones never score. */
export function topKLanes(queries: number): number {
  return queries === 1 ? 1 : queries <= 4 ? 4 : queries <= 8 ? 8 : 16
}

/**
 * Writes `queries` (1 to 16 vectors of `dimension`) into the scratch area and sets their thresholds to
 * minus infinity.
 */
export function writeTopKQueries(
  memory: WasmMemory,
  scratch: number,
  capacity: number,
  queries: readonly Float32Array[],
): void {
  const lanes = topKLanes(queries.length)
  const dimension = queries[0]?.length ?? 0
  const width = (dimension + 3) & ~3
  const [elementStep, queryStep] = lanes <= 4 ? [1, width] : [lanes, 1]
  const start = topKQueries(scratch, capacity)
  const packed = new Float32Array(memory.buffer, start, lanes * width)
  packed.fill(0)
  for (const [lane, query] of queries.entries()) {
    for (let d = 0; d < dimension; d++) {
      packed[d * elementStep + lane * queryStep] = query[d] as number
    }
  }
  const thresholds = new Float32Array(memory.buffer, scratch, MAX_TOP_K_QUERIES)
  thresholds.fill(Number.POSITIVE_INFINITY)
  thresholds.fill(Number.NEGATIVE_INFINITY, 0, queries.length)
}
