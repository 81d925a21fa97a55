import { describe, expect, it } from 'vitest'
import {
  SCREEN_LANES,
  type ScreenBlock,
  ScreenKernels,
  type ScreenQueries,
  screenWidth,
} from '../../../src/core/kernels/screen-kernels.ts'
import { screenQueryOf } from '../../../src/core/kernels/screen-query.ts'
import {
  topKScratchBytes,
  topKTriples,
  writeTopKQueries,
} from '../../../src/core/kernels/top-k-scratch.ts'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { KernelArena, randomVector } from './kernel-arena.ts'
import { plainDot, plainScreenBound, plainScreenRow } from './plain-kernels.ts'

/** Coded rows, their floats, and place for queries and lists. */
class Screening {
  readonly arena = new KernelArena({ pages: 16 })
  readonly kernels: ScreenKernels
  readonly block: ScreenBlock
  readonly queries: ScreenQueries
  readonly lists: number
  readonly rows: readonly Float32Array[]
  readonly addresses: readonly number[]

  constructor(rows: readonly Float32Array[]) {
    const dimension = rows[0]!.length
    const width = screenWidth(dimension)
    const count = Math.ceil(rows.length / 16) * 16
    this.rows = rows
    this.kernels = new ScreenKernels(this.arena.memory, dimension)
    this.block = {
      codes: this.arena.allocate(count * width),
      bounds: this.arena.allocate(count * 12),
      rows: count,
    }
    this.queries = {
      heads: this.arena.allocate(SCREEN_LANES * 32),
      codes: this.arena.allocate(SCREEN_LANES * 4 * width),
    }
    this.lists = this.arena.allocate(SCREEN_LANES * 4 * count)
    this.addresses = rows.map((row) => this.arena.put([...row, Number.NaN, Number.NaN, Number.NaN]))
    for (let row = 0; row < count; row++) {
      if (row < rows.length) this.kernels.encode(this.addresses[row]!, this.block, row)
      else this.kernels.erase(this.block, row)
    }
  }

  codesOf(row: number): number[] {
    const width = screenWidth(this.rows[0]!.length)
    const group = this.block.codes + (row >> 2) * 4 * width + (row & 3) * 4
    const bytes = new Uint8Array(this.arena.memory.buffer)
    return Array.from(this.rows[0]!, (_, d) => bytes[group + (d >> 2) * 16 + (d & 3)]!)
  }

  /** Rows found for each query with its threshold. */
  found(queries: readonly Float32Array[], thresholds: readonly number[]): number[][] {
    const { kernels, arena } = this
    const floats = new Float32Array(arena.memory.buffer)
    const words = new Int32Array(arena.memory.buffer)
    for (let lane = 0; lane < SCREEN_LANES; lane++) {
      const query = queries[lane]
      kernels.writeQuery(this.queries, lane, query && screenQueryOf(query)!)
      if (query) floats[kernels.thresholdWord(this.queries, lane)] = thresholds[lane]!
    }
    kernels.screen(this.queries, queries.length, this.block, this.lists)
    return queries.map((_, lane) => {
      const count = words[kernels.foundWord(this.queries, lane)]!
      const first = this.lists / 4 + lane * this.block.rows
      return Array.from(words.subarray(first, first + count)).sort((a, b) => a - b)
    })
  }

  score(row: number, query: Float32Array): number {
    return this.arena.kernels.dot(this.addresses[row]!, this.arena.put(query), query.length)
  }
}

const rowsOf = (count: number, dimension: number, random: Random): Float32Array[] =>
  Array.from({ length: count }, () => randomVector(dimension, random))

describe.each([1, 2, 3, 4])('screening for %i queries', (lanes) => {
  it.each([
    [16, 3],
    [48, 4],
    [128, 33],
    [512, 100],
  ])('of %i rows of dimension %i finds what the plain bound finds', (count, dimension) => {
    const random = seededRandom(count + dimension + lanes)
    const screening = new Screening(rowsOf(count, dimension, random))
    const queries = rowsOf(lanes, dimension, random)
    const scores = queries.map((query) => screening.rows.map((row) => plainDot(row, query)))
    const thresholds = scores.map((all) => all.toSorted((a, b) => b - a)[Math.min(9, count - 1)]!)
    const found = screening.found(queries, thresholds)
    for (const [n, query] of queries.entries()) {
      const { codes, step } = screenQueryOf(query)!
      const threshold = thresholds[n]!
      for (const [i, row] of screening.rows.entries()) {
        const bound = plainScreenBound(plainScreenRow(row), query, codes, step)
        if (bound > threshold + 1e-6) expect(found[n]).toContain(i)
        if (bound < threshold - 1e-3) expect(found[n]).not.toContain(i)
      }
      expect(found[n]!.length).toBeLessThan(count)
    }
  })
})

it('codes of a row are those of the plain kernel', () => {
  const random = seededRandom(5)
  const screening = new Screening(rowsOf(64, 101, random))
  for (const [i, row] of screening.rows.entries()) {
    const plain = plainScreenRow(row).codes
    const different = screening.codesOf(i).filter((code, d) => code !== plain[d])
    // A quotient next to a half may be rounded the other way in float32.
    expect(different.length).toBeLessThan(2)
  }
})

/** Values that are difficult for floats. */
const AWKWARD = [
  0,
  -0,
  1e-45,
  -1e-40,
  1e-38,
  2 ** -41,
  2 ** -40,
  1e-12,
  1,
  -1,
  0.1,
  -3.3,
  63,
  127.5,
  1e6,
  -1e10,
  2 ** 50,
  2 ** 51,
  -1e20,
  1e38,
]

it('never misses a row that beats the threshold, whatever the numbers', () => {
  const random = seededRandom(99)
  const pick = (): number => AWKWARD[random.below(AWKWARD.length)]!
  for (let round = 0; round < campaignSize(60, 300); round++) {
    const dimension = 1 + random.below(24)
    const scale = pick()
    const rows = Array.from({ length: 32 }, () => {
      const awkward = random.below(3)
      const value = (): number =>
        awkward === 0 ? pick() : awkward === 1 ? scale * random.normal() : random.normal()
      return Float32Array.from({ length: dimension }, value)
    })
    const screening = new Screening(rows)
    const query = Float32Array.from({ length: dimension }, () =>
      random.below(4) === 0 ? pick() : random.normal(),
    )
    if (screenQueryOf(query) === undefined) continue
    const scores = rows.map((_, row) => screening.score(row, query))
    for (const threshold of [...scores, 0].filter((one) => Number.isFinite(one))) {
      const found = new Set(screening.found([query], [threshold])[0])
      const missed = scores.findIndex((score, row) => score > threshold && !found.has(row))
      expect(missed, `row missed in round ${round}`).toBe(-1)
    }
  }
})

it('a row with NaN or infinity is always found, an erased one never, an opened one always', () => {
  const rows = rowsOf(16, 8, seededRandom(1))
  rows[3] = Float32Array.from([1, 2, Number.NaN, 4, 5, 6, 7, 8])
  rows[4] = Float32Array.from([1, 2, 3, 4, 5, 6, 7, Number.POSITIVE_INFINITY])
  const screening = new Screening(rows)
  screening.kernels.erase(screening.block, 5)
  screening.kernels.open(screening.block, 6)
  const query = Float32Array.from({ length: 8 }, () => 1)
  expect(screening.found([query], [1e9])).toEqual([[3, 4, 6]])
  expect(screening.found([query], [-1e9])[0]).not.toContain(5)
})

it('a query that float32 cannot bound has no codes', () => {
  expect(screenQueryOf(Float32Array.of(0, 0))).toBeUndefined()
  expect(screenQueryOf(Float32Array.of(1, Number.NaN))).toBeUndefined()
  expect(screenQueryOf(Float32Array.of(1, Number.POSITIVE_INFINITY))).toBeUndefined()
  expect(screenQueryOf(Float32Array.of(1e30))).toBeUndefined()
  expect(screenQueryOf(Float32Array.of(1e-30))).toBeUndefined()
})

it('scores four rows exactly as the block kernel does for one query', () => {
  const random = seededRandom(8)
  for (const dimension of [1, 3, 4, 33, 100]) {
    const width = screenWidth(dimension)
    const arena = new KernelArena()
    const kernels = new ScreenKernels(arena.memory, dimension)
    const rows = rowsOf(4, dimension, random)
    const query = randomVector(dimension, random)
    const at = arena.allocate(4 * width * 4)
    for (const [i, row] of rows.entries()) arena.floats(at + i * width * 4, dimension).set(row)
    const padded = arena.put([...query, 0, 0, 0])
    const out = arena.allocate(16)
    kernels.scoreFour(padded, at, out)
    const scratch = arena.allocate(topKScratchBytes(dimension, 32))
    writeTopKQueries(arena.memory, scratch, 32, [query])
    const block = { base: at, strideBytes: width * 4, rows: 4, dimension, capacity: 32 }
    expect(arena.kernels.topKBlock({ scratch, queries: 1, ...block })).toBe(4)
    const triples = arena.floats(topKTriples(scratch), 12)
    expect(Array.from(arena.floats(out, 4))).toEqual([2, 5, 8, 11].map((word) => triples[word]))
  }
})
