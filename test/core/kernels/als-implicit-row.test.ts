import { describe, expect, it } from 'vitest'
import { type AlsRowProblem, alsScratchBytes, alsWidth } from '../../../src/core/kernels/kernels.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { KernelArena, largestDifference, randomVector } from './kernel-arena.ts'
import {
  type PlainRowProblem,
  plainGradientRow,
  plainGram,
  plainRowObjective,
  plainSolveRow,
} from './plain-kernels.ts'

const ALPHA = 4
const OTHERS = 300

interface Case {
  readonly arena: KernelArena
  readonly problem: AlsRowProblem
  /** The same over all pairs, rated or not, weighted by the root of their confidence. */
  readonly dense: PlainRowProblem
  readonly start: number[]
}

/** A row with `count` ratings of `OTHERS` others; every tenth rating is a rejection. */
function implicitCase(factors: number, count: number, panelRows = 304): Case {
  const random = seededRandom(factors * 100 + count)
  const arena = new KernelArena({ pages: 64 })
  const width = alsWidth(factors)
  const others = Array.from({ length: OTHERS }, () => {
    const row = new Float32Array(width)
    row.set(randomVector(factors, random).map((x) => x / 2))
    return row
  })
  const indexes = Array.from({ length: count }, (_, k) => k)
  const ratings = indexes.map((k) => (k % 10 === 9 ? -1 : 1) * (1 + random.below(5)))
  const confidence = others.map((_, i) => 1 + ALPHA * Math.abs(ratings[i] ?? 0))
  const preference = others.map((_, i) => ((ratings[i] ?? 0) > 0 ? 1 : 0))
  const start = Array.from(randomVector(factors, random))
  return {
    arena,
    start,
    dense: {
      design: others.map((row, i) => row.map((x) => x * Math.sqrt(confidence[i] as number))),
      targets: preference.map((p, i) => p * Math.sqrt(confidence[i] as number)),
      penalties: Array.from({ length: width }, () => 3),
    },
    problem: {
      row: arena.put([...start, ...new Array(width - factors).fill(0)]),
      indexes: arena.putIndexes(indexes),
      ratings: arena.put(ratings),
      roots: 0,
      count,
      other: arena.put(others.flatMap((row) => Array.from(row))),
      strideBytes: width * 4,
      unknowns: factors,
      biased: false,
      mean: 0,
      factorPenalty: 3,
      biasPenalty: 0,
      gram: arena.put(plainGram(others, width).flat()),
      alpha: ALPHA,
      scratch: arena.allocate(alsScratchBytes(factors, panelRows)),
      panelRows,
    },
  }
}

const close = (value: number, expected: number): boolean =>
  Math.abs(value - expected) < 1e-4 * (1 + Math.abs(expected))

describe.each([
  { factors: 1, count: 1 },
  { factors: 3, count: 7 },
  { factors: 8, count: 60 },
  { factors: 17, count: 300 },
  { factors: 64, count: 40 },
])('an implicit ALS row with $factors factors, $count of 300 rated', ({ factors, count }) => {
  it('is solved as the dense problem over all pairs is', () => {
    const { arena, problem, dense } = implicitCase(factors, count)
    const objective = arena.kernels.alsSolveCholesky(problem)
    const exact = plainSolveRow(dense)
    const row = Array.from(arena.floats(problem.row, factors))
    expect(largestDifference(exact.slice(0, factors), row)).toBeLessThan(2e-4)
    expect(close(objective, plainRowObjective(dense, exact))).toBe(true)
  })

  it('takes the conjugate gradient steps of the dense problem', () => {
    const { arena, problem, dense, start } = implicitCase(factors, count)
    const objective = arena.kernels.alsSolveGradient(problem, 3)
    const padded = [...start, ...new Array(alsWidth(factors) - factors).fill(0)]
    const expected = plainGradientRow(dense, padded, 3)
    const row = Array.from(arena.floats(problem.row, factors))
    expect(largestDifference(expected.slice(0, factors), row)).toBeLessThan(1e-3)
    expect(close(objective, plainRowObjective(dense, expected))).toBe(true)
  })

  it('has the same bits if its ratings are gathered again in each step', () => {
    const kept = implicitCase(factors, count)
    const again = implicitCase(factors, count, 8)
    const objective = kept.arena.kernels.alsSolveGradient(kept.problem, 3)
    expect(again.arena.kernels.alsSolveGradient(again.problem, 3)).toBe(objective)
    const rowOf = ({ arena, problem }: Case): Float32Array => arena.floats(problem.row, factors)
    expect(rowOf(again)).toEqual(rowOf(kept))
  })
})
