import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { KernelArena, largestDifference, randomVector } from './kernel-arena.ts'
import {
  plainAxpy,
  plainDot,
  plainGemv,
  plainGram,
  plainSgdStep,
  plainSolve,
  plainSparseDot,
} from './plain-kernels.ts'

/** Every tail of the unrolled loops, and lengths that are used. */
const LENGTHS = [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 102, 257]

describe('vector kernels equal their plain references', () => {
  it.each(LENGTHS)('at length %i, aligned or not', (length) => {
    for (const offset of [0, 4]) {
      const arena = new KernelArena()
      const random = seededRandom(length * 7 + offset)
      const [p, q] = [randomVector(length, random), randomVector(length, random)]
      const [a, b] = [arena.put(p, offset), arena.put(q, offset)]
      const delta = arena.allocate(length * 4 + 4, offset)
      expect(arena.kernels.dot(a, b, length)).toBeCloseTo(plainDot(p, q), 3)

      const step = plainSgdStep(p, q, 0.7, 0.05, 0.02)
      arena.kernels.sgdStep(a, b, delta, length, 0.7, 0.05, 0.02)
      expect(largestDifference(step.p, arena.floats(a, length))).toBeLessThan(1e-6)
      expect(largestDifference(step.delta, arena.floats(delta, length))).toBeLessThan(1e-6)
      expect(arena.floats(delta, length + 1)[length]).toBe(0)

      const expected = plainAxpy(-1.5, q, arena.floats(a, length).slice())
      arena.kernels.axpy(-1.5, b, a, length)
      expect(largestDifference(expected, arena.floats(a, length))).toBeLessThan(1e-5)
      expect(arena.floats(a, length + 1)[length]).toBe(0)
    }
  })

  it.each([1, 2, 3, 4, 5, 9, 13])('gemv over %i rows with gaps between them', (rows) => {
    for (const length of [1, 3, 4, 10, 64, 101]) {
      const arena = new KernelArena()
      const random = seededRandom(rows * 1000 + length)
      const stride = length + 5
      const block = randomVector(rows * stride, random)
      const x = randomVector(length, random)
      const out = arena.allocate(rows * 4)
      arena.kernels.gemv(arena.put(block, 4), stride * 4, rows, arena.put(x), out, length)
      const table = Array.from({ length: rows }, (_, r) =>
        block.subarray(r * stride, r * stride + length),
      )
      expect(largestDifference(plainGemv(table, x), arena.floats(out, rows))).toBeLessThan(1e-4)
    }
  })

  it.each([0, 1, 3, 4, 6, 118])('the gathered sum of %i weights, and how many are 0', (count) => {
    const { arena, gathering, weights, indexes, values } = gatheringOf(count)
    expect(arena.kernels.gatherDot(gathering)).toBeCloseTo(
      plainSparseDot(weights, indexes, values),
      10,
    )
    const zeros = indexes.filter((index) => weights[index] === 0).length
    expect(arena.kernels.gatheredZeros()).toBe(zeros)
  })

  it('a gathered sum counts for nothing when a row has another sequence word', () => {
    const { arena, gathering } = gatheringOf(9)
    new Int32Array(arena.memory.buffer, gathering.sequences, gathering.rows)[1]! += 2
    arena.kernels.gatherDot(gathering)
    expect(arena.kernels.gatheredZeros()).toBe(-1)
  })
})

/** Features of weights, every tenth of which is 0, and two rows with their sequence words. */
function gatheringOf(count: number) {
  const arena = new KernelArena()
  const random = seededRandom(count)
  const weights = randomVector(1000, random).map((weight, i) => (i % 10 === 0 ? 0 : weight))
  const indexes = Array.from({ length: count }, () => random.below(1000))
  const values = randomVector(count, random)
  const first = arena.put(weights) / 4
  const header = arena.putIndexes([6, 8]) / 4
  const gathering = {
    headers: arena.putIndexes([header, header + 1]),
    sequences: arena.putIndexes([6, 8]),
    rows: 2,
    addresses: arena.putIndexes(indexes.map((index) => first + index)),
    values: arena.put(values),
    features: count,
  }
  return { arena, gathering, weights, indexes, values }
}

describe('addresses above 2 GiB', () => {
  it('are unsigned', () => {
    const pages = 2 ** 15 + 4
    const arena = new KernelArena({ pages, start: 2 ** 31 + 1024 })
    const [a, b] = [randomVector(10), randomVector(10, seededRandom(3))]
    expect(arena.kernels.dot(arena.put(a), arena.put(b), 10)).toBeCloseTo(plainDot(a, b), 5)
  })

  it('outside the memory are refused by WebAssembly', () => {
    const arena = new KernelArena({ pages: 1 })
    expect(() => arena.kernels.dot(65536, 0, 4)).toThrow(WebAssembly.RuntimeError)
  })
})

describe('Gram matrix and Cholesky', () => {
  it.each([1, 2, 3, 4, 5, 8, 11, 12, 20, 33, 64, 101])('solve a system of %i unknowns', (n) => {
    const arena = new KernelArena()
    const width = (n + 3) & ~3
    const depth = 2 * n + 3
    const random = seededRandom(n)
    const rows = Array.from({ length: depth }, () => randomVector(n, random))
    const panel = arena.allocate(depth * width * 4)
    for (const [k, row] of rows.entries()) arena.floats(panel + k * width * 4, n).set(row)
    const gram = arena.allocate(width * width * 4)
    arena.kernels.accumulateGram(panel, depth, width, gram)

    const expected = plainGram(rows, n)
    for (let i = 0; i < n; i++) {
      const upper = arena.floats(gram + (i * width + i) * 4, n - i)
      expect(largestDifference((expected[i] as number[]).slice(i), upper)).toBeLessThan(1e-3)
      upper[0] = (upper[0] as number) + 5
      const row = expected[i] as number[]
      row[i] = (row[i] as number) + 5
    }

    const b = randomVector(n, random)
    const solution = arena.allocate(width * 4)
    arena.floats(solution, n).set(b)
    expect(arena.kernels.factorCholesky(gram, n, width)).toBe(0)
    arena.kernels.solveCholesky(gram, n, width, solution)
    const exact = plainSolve(expected, Array.from(b))
    expect(largestDifference(exact, arena.floats(solution, n))).toBeLessThan(1e-4)
  })

  it('name the row at which a matrix is not positive definite', () => {
    const arena = new KernelArena()
    const matrix = arena.put([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1])
    expect(arena.kernels.factorCholesky(matrix, 4, 4)).toBe(3)
  })
})
