import { describe, expect, it } from 'vitest'
import {
  topKScratchBytes,
  topKTriples,
  writeTopKQueries,
} from '../../../src/core/kernels/top-k-scratch.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { KernelArena, randomVector } from './kernel-arena.ts'
import { plainDot } from './plain-kernels.ts'

/** Rows with a header of two words that would spoil every score if it were read as a float. */
function randomRows(rows: number, dimension: number) {
  const arena = new KernelArena({ pages: 64 })
  const random = seededRandom(rows * 31 + dimension)
  const stride = dimension + 2
  const block = new Float32Array(rows * stride).fill(Number.NaN)
  const vectors = Array.from({ length: rows }, (_, r) => {
    const vector = randomVector(dimension, random)
    block.set(vector, r * stride)
    return vector
  })
  return { arena, random, vectors, base: arena.put(block), strideBytes: stride * 4 }
}

/** The k best rows of `vectors` for a query, by full sort. */
function bestRows(vectors: readonly Float32Array[], query: Float32Array, k: number): number[] {
  const scores = vectors.map((vector) => plainDot(vector, query))
  const order = scores.map((_, row) => row)
  return order.sort((a, b) => (scores[b] as number) - (scores[a] as number)).slice(0, k)
}

/** The k best rows of each query by the kernel, thresholds raised after each call. */
function scan(
  table: ReturnType<typeof randomRows>,
  queries: readonly Float32Array[],
  k: number,
  capacity = 64,
): number[][] {
  const { arena, base, strideBytes, vectors } = table
  const dimension = queries[0]?.length ?? 0
  const scratch = arena.allocate(topKScratchBytes(dimension, capacity))
  writeTopKQueries(arena.memory, scratch, capacity, queries)
  const best = queries.map((): { row: number; score: number }[] => [])
  for (let done = 0; done < vectors.length; ) {
    const block = { base: base + done * strideBytes, strideBytes, rows: vectors.length - done }
    const request = { scratch, queries: queries.length, dimension, capacity, ...block }
    const scanned = arena.kernels.topKBlock(request)
    const written = arena.kernels.topKWritten(scratch)
    const words = new Uint32Array(arena.memory.buffer, topKTriples(scratch), written * 3)
    const scores = arena.floats(topKTriples(scratch), written * 3)
    for (let at = 0; at < words.length; at += 3) {
      const row = done + (words[at + 1] as number)
      best[words[at] as number]?.push({ row, score: scores[at + 2] as number })
    }
    for (const [query, found] of best.entries()) {
      found.sort((a, b) => b.score - a.score).splice(k)
      const last = found[k - 1]
      if (last !== undefined) arena.floats(scratch, queries.length)[query] = last.score
    }
    done += scanned
  }
  return best.map((found) => found.map(({ row }) => row))
}

describe.each([1, 2, 4, 5, 8, 9, 16])('top-k of %i queries in one pass', (count) => {
  it.each([
    [1, 3],
    [5, 4],
    [63, 10],
    [777, 33],
    [2000, 100],
  ])('finds the best of %i rows of dimension %i', (rows, dimension) => {
    const table = randomRows(rows, dimension)
    const queries = Array.from({ length: count }, () => randomVector(dimension, table.random))
    const expected = queries.map((query) => bestRows(table.vectors, query, 10))
    expect(scan(table, queries, 10)).toEqual(expected)
  })
})

describe('the block kernel', () => {
  it('stops when its triples are full and returns the number of rows scanned', () => {
    const table = randomRows(100, 8)
    const scratch = table.arena.allocate(topKScratchBytes(8, 32))
    writeTopKQueries(table.arena.memory, scratch, 32, [randomVector(8)])
    const scanned = table.arena.kernels.topKBlock({
      ...{ scratch, queries: 1, base: table.base, strideBytes: table.strideBytes },
      ...{ rows: 100, dimension: 8, capacity: 32 },
    })
    expect(scanned).toBe(32)
    expect(table.arena.kernels.topKWritten(scratch)).toBe(32)
  })

  it('writes only scores greater than the threshold of their query', () => {
    const table = randomRows(50, 6)
    const queries = [randomVector(6, seededRandom(1)), randomVector(6, seededRandom(2))]
    const scratch = table.arena.allocate(topKScratchBytes(6, 256))
    writeTopKQueries(table.arena.memory, scratch, 256, queries)
    table.arena.floats(scratch, 2).set([1, Number.POSITIVE_INFINITY])
    table.arena.kernels.topKBlock({
      ...{ scratch, queries: 2, base: table.base, strideBytes: table.strideBytes },
      ...{ rows: 50, dimension: 6, capacity: 256 },
    })
    const written = table.arena.kernels.topKWritten(scratch)
    const words = new Uint32Array(table.arena.memory.buffer, topKTriples(scratch), written * 3)
    const expected = table.vectors.flatMap((vector, row) =>
      plainDot(vector, queries[0] as Float32Array) > 1 ? [row] : [],
    )
    expect(Array.from(words).filter((_, i) => i % 3 === 0)).toEqual(expected.map(() => 0))
    expect(Array.from(words).filter((_, i) => i % 3 === 1)).toEqual(expected)
  })
})

describe('the scan', () => {
  it('sees every row of blocks that are scanned in streams, whatever their remainder', () => {
    for (const rows of [256, 257, 258, 259, 1023]) {
      const table = randomRows(rows, 7)
      for (const count of [1, 3, 7, 16]) {
        const queries = Array.from({ length: count }, () => randomVector(7, table.random))
        const scratch = table.arena.allocate(topKScratchBytes(7, rows * count + 32))
        const capacity = rows * count + 32
        writeTopKQueries(table.arena.memory, scratch, capacity, queries)
        const { base, strideBytes } = table
        const request = { scratch, queries: count, base, strideBytes, rows, dimension: 7, capacity }
        expect(table.arena.kernels.topKBlock(request)).toBe(rows)
        const written = table.arena.kernels.topKWritten(scratch)
        expect(written).toBe(rows * count)
        const words = new Uint32Array(table.arena.memory.buffer, topKTriples(scratch), written * 3)
        const scores = table.arena.floats(topKTriples(scratch), written * 3)
        const pairs = new Set<number>()
        let largestError = 0
        for (let at = 0; at < words.length; at += 3) {
          pairs.add((words[at + 1] as number) * 16 + (words[at] as number))
          const query = queries[words[at] as number] as Float32Array
          const row = table.vectors[words[at + 1] as number] as Float32Array
          const error = Math.abs((scores[at + 2] as number) - plainDot(query, row))
          largestError = Math.max(largestError, error)
        }
        expect(largestError).toBeLessThan(1e-4)
        expect(pairs.size).toBe(rows * count)
      }
    }
  })

  it('continues through any number of full scratch areas', () => {
    const table = randomRows(500, 5)
    const queries = Array.from({ length: 16 }, () => randomVector(5, table.random))
    const expected = queries.map((query) => bestRows(table.vectors, query, 100))
    expect(scan(table, queries, 100, 32)).toEqual(expected)
  })
})
