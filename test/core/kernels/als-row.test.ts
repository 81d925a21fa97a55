import { describe, expect, it } from 'vitest'
import { type AlsRowProblem, alsScratchBytes } from '../../../src/core/kernels/kernels.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { KernelArena, largestDifference, randomVector } from './kernel-arena.ts'
import {
  type PlainRowProblem,
  plainGradientRow,
  plainRowObjective,
  plainSolveRow,
} from './plain-kernels.ts'

interface Case {
  readonly arena: KernelArena
  readonly problem: AlsRowProblem
  readonly plain: PlainRowProblem
  /** The row's present unknowns. */
  readonly start: number[]
}

/** A random row with `count` ratings; the other side has 700 rows of `factors`. */
function randomCase(factors: number, count: number, biased: boolean, panelRows = 8192): Case {
  const random = seededRandom(factors * 100 + count)
  const arena = new KernelArena({ pages: 64 })
  const stride = (factors + (biased ? 2 : 0) + 3) & ~3
  const others = Array.from({ length: 700 }, () => {
    const row = new Float32Array(stride)
    row.set(randomVector(factors, random).map((x) => x / 2))
    if (biased) row.set([1, random.normal() / 3], factors)
    return row
  })
  const other = arena.put(others.flatMap((row) => Array.from(row)))
  const indexes = Array.from({ length: count }, () => random.below(700))
  const ratings = Array.from({ length: count }, () => 1 + random.below(5))
  const unknowns = factors + (biased ? 1 : 0)
  const start = Array.from(randomVector(unknowns, random))
  const row = new Float32Array(stride)
  row.set(start)
  if (biased) row.set([1, start[factors] as number], factors)
  const mean = biased ? 3.5 : 0
  const rows = indexes.map((index) => others[index] as Float32Array)
  return {
    arena,
    start,
    plain: {
      design: rows.map((design) => design.subarray(0, unknowns)),
      targets: ratings.map(
        (rating, k) => rating - mean - (biased ? ((rows[k] as Float32Array)[unknowns] ?? 0) : 0),
      ),
      penalties: Array.from({ length: unknowns }, (_, i) => (biased && i === factors ? 2.5 : 5)),
    },
    problem: {
      row: arena.put(row),
      indexes: arena.putIndexes(indexes),
      ratings: arena.put(ratings),
      roots: 0,
      count,
      other,
      strideBytes: stride * 4,
      unknowns,
      biased,
      mean,
      factorPenalty: 5,
      biasPenalty: 2.5,
      gram: 0,
      alpha: 0,
      scratch: arena.allocate(alsScratchBytes(unknowns, panelRows)),
      panelRows,
    },
  }
}

/** Unknowns of the row in memory; also checks the constant column. */
function unknownsOf({ arena, problem }: Case): number[] {
  const row = Array.from(arena.floats(problem.row, problem.unknowns + 1))
  if (!problem.biased) return row.slice(0, problem.unknowns)
  expect(row[problem.unknowns - 1]).toBe(1)
  return [...row.slice(0, problem.unknowns - 1), row[problem.unknowns] as number]
}

const CASES = [
  { factors: 1, count: 1 },
  { factors: 3, count: 7 },
  { factors: 4, count: 8 },
  { factors: 10, count: 33 },
  { factors: 16, count: 512 },
  { factors: 17, count: 513 },
  { factors: 50, count: 1100 },
  { factors: 64, count: 140 },
  { factors: 5, count: 8300 },
].flatMap((shape) => [
  { ...shape, biased: false },
  { ...shape, biased: true },
])

/** In the short part every second shape, by the commit. */
const first = commitSeed() % 2
const PART = CASES.filter((_, n) => campaignSize((n >> 1) % 2 === first, true))

describe.each(PART)('an ALS row with $factors factors, $count ratings, biased $biased', (shape) => {
  it('is solved exactly, and the answer is its objective', () => {
    const row = randomCase(shape.factors, shape.count, shape.biased)
    const objective = row.arena.kernels.alsSolveCholesky(row.problem)
    const exact = plainSolveRow(row.plain)
    expect(largestDifference(exact, unknownsOf(row))).toBeLessThan(2e-4)
    const expected = plainRowObjective(row.plain, exact)
    expect(Math.abs(objective - expected)).toBeLessThan(1e-4 * (1 + Math.abs(expected)))
    const penalty = plainRowObjective({ ...row.plain, design: [], targets: [] }, exact)
    expect(row.arena.kernels.alsPenalty()).toBeCloseTo(penalty, 3)
  })

  it('weighs the square of each rating that has a weight', () => {
    const row = randomCase(shape.factors, shape.count, shape.biased)
    const roots = Array.from({ length: shape.count }, (_, k) => 0.25 + (k % 4) / 4)
    const weighted = { ...row.problem, roots: row.arena.put(roots) }
    row.arena.kernels.alsSolveCholesky(weighted)
    const design = row.plain.design.map((each, k) => Array.from(each, (x) => x * roots[k]!))
    const targets = row.plain.targets.map((target, k) => target * roots[k]!)
    const exact = plainSolveRow({ ...row.plain, design, targets })
    expect(largestDifference(exact, unknownsOf(row))).toBeLessThan(2e-4)
  })

  it('takes the same conjugate gradient steps as the reference', () => {
    const row = randomCase(shape.factors, shape.count, shape.biased)
    const objective = row.arena.kernels.alsSolveGradient(row.problem, 3)
    const expected = plainGradientRow(row.plain, row.start, 3)
    expect(largestDifference(expected, unknownsOf(row))).toBeLessThan(1e-3)
    const reached = plainRowObjective(row.plain, unknownsOf(row))
    expect(Math.abs(objective - reached)).toBeLessThan(1e-3 * (1 + Math.abs(reached)))
  })

  it('has the same bits if its ratings are gathered again in each step', () => {
    const kept = randomCase(shape.factors, shape.count, shape.biased, (shape.count + 7) & ~7)
    const again = randomCase(shape.factors, shape.count, shape.biased, 8)
    const objective = kept.arena.kernels.alsSolveGradient(kept.problem, 3)
    expect(again.arena.kernels.alsSolveGradient(again.problem, 3)).toBe(objective)
    expect(unknownsOf(again)).toEqual(unknownsOf(kept))
  })
})

describe('conjugate gradient', () => {
  it('with enough steps arrives at the exact solution', () => {
    const row = randomCase(10, 200, true)
    row.arena.kernels.alsSolveGradient(row.problem, 40)
    expect(largestDifference(plainSolveRow(row.plain), unknownsOf(row))).toBeLessThan(1e-4)
  })
})
