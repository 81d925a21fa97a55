import { describe, expect, it } from 'vitest'
import { alsScratchBytes, alsWidth, type RowDraw } from '../../../src/core/kernels/kernels.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { KernelArena, largestDifference } from './kernel-arena.ts'
import { plainDot, plainSolve } from './plain-kernels.ts'

interface Case {
  readonly arena: KernelArena
  readonly draw: RowDraw
  /** Precision and its product with the mean, float64. */
  readonly precision: number[][]
  readonly right: number[]
  /** Weighted sum of squared errors of a row. */
  squaresAt(x: readonly number[]): number
}

const MEAN = 3.5

/** A row with `count` ratings of 600 others, and a prior that is not diagonal. */
function randomCase(factors: number, count: number): Case {
  const random = seededRandom(factors * 1000 + count)
  const arena = new KernelArena({ pages: 64 })
  const stride = (factors + 2 + 3) & ~3
  const n = factors + 1
  const width = alsWidth(n)
  const others = Array.from({ length: 600 }, () => {
    const row = new Float32Array(stride)
    for (let i = 0; i < factors; i++) row[i] = random.normal() / 2
    row.set([1, random.normal() / 3], factors)
    return row
  })
  const indexes = Array.from({ length: count }, () => random.below(600))
  const ratings = Array.from({ length: count }, () => 1 + random.below(5))
  const root = Array.from({ length: n }, () => Array.from({ length: n }, () => random.normal() / 2))
  const prior = root.map((a, i) => root.map((b, j) => plainDot(a, b) + (i === j ? 3 : 0)))
  const shift = Array.from({ length: n }, () => random.normal())
  const priorFloats = new Float32Array(width * width)
  for (let i = 0; i < n; i++) priorFloats.set(prior[i] as number[], i * width)
  const shiftFloats = new Float32Array(width)
  shiftFloats.set(shift)
  const weights = indexes.map(() => 0.5 + random.next())
  const design = indexes.map((index) => Array.from(others[index]!.subarray(0, n)))
  const targets = ratings.map((rating, k) => rating - MEAN - others[indexes[k]!]![n]!)
  const squaresAt = (x: readonly number[]): number =>
    design.reduce((sum, row, k) => sum + weights[k]! * (targets[k]! - plainDot(row, x)) ** 2, 0)
  return {
    arena,
    squaresAt,
    precision: prior.map((row, i) =>
      row.map((value, j) => design.reduce((sum, z, k) => sum + weights[k]! * z[i]! * z[j]!, value)),
    ),
    right: shift.map((value, i) =>
      design.reduce((sum, z, k) => sum + weights[k]! * z[i]! * targets[k]!, value),
    ),
    draw: {
      row: arena.allocate(stride * 4),
      indexes: arena.putIndexes(indexes),
      ratings: arena.put(ratings),
      roots: arena.put(weights.map(Math.sqrt)),
      count,
      other: arena.put(others.flatMap((row) => Array.from(row))),
      strideBytes: stride * 4,
      unknowns: n,
      mean: MEAN,
      prior: arena.put(priorFloats),
      shift: arena.put(shiftFloats),
      noise: arena.allocate(width * 4),
      center: arena.allocate(width * 4),
      scratch: arena.allocate(alsScratchBytes(n)),
    },
  }
}

/** Unknowns of the row in memory; also checks the constant column. */
function unknownsOf({ arena, draw }: Case): number[] {
  const factors = draw.unknowns - 1
  const row = arena.floats(draw.row, factors + 2)
  expect(row[factors]).toBe(1)
  return [...row.subarray(0, factors), row[factors + 1]!]
}

describe.each([
  [1, 3],
  [2, 1],
  [5, 40],
  [16, 700],
  [31, 130],
  [32, 1300],
])('drawing a row of %i factors from %i ratings', (factors, count) => {
  it('draws the mean without noise, and reports the mean with any noise', () => {
    const drawn = randomCase(factors, count)
    const mean = plainSolve(drawn.precision, drawn.right)
    const squares = drawn.arena.kernels.drawRow(drawn.draw)
    expect(largestDifference(unknownsOf(drawn), mean)).toBeLessThan(2e-4)
    expect(Math.abs(squares / drawn.squaresAt(mean) - 1)).toBeLessThan(1e-3)
    drawn.arena.floats(drawn.draw.noise, factors + 1).fill(0.3)
    drawn.arena.kernels.drawRow(drawn.draw)
    const center = drawn.arena.floats(drawn.draw.center, factors + 1)
    expect(largestDifference(center, mean)).toBeLessThan(2e-4)
  })

  it('reports the squared errors of the draw, not of the mean', () => {
    const drawn = randomCase(factors, count)
    const random = seededRandom(count)
    const noise = drawn.arena.floats(drawn.draw.noise, factors + 1)
    for (let i = 0; i < noise.length; i++) noise[i] = 2 * random.normal()
    const squares = drawn.arena.kernels.drawRow(drawn.draw)
    expect(Math.abs(squares / drawn.squaresAt(unknownsOf(drawn)) - 1)).toBeLessThan(1e-3)
  })
})

describe('the covariance of draws', () => {
  it('is the inverse of the precision: the images of unit noises form a root of it', () => {
    const drawn = randomCase(5, 40)
    const n = drawn.draw.unknowns
    const noise = drawn.arena.floats(drawn.draw.noise, n)
    const center = plainSolve(drawn.precision, drawn.right)
    const images = Array.from({ length: n }, (_, k) => {
      noise.fill(0)
      noise[k] = 1
      drawn.arena.kernels.drawRow(drawn.draw)
      return unknownsOf(drawn).map((x, i) => x - center[i]!)
    })
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        // Element (i, j) of precision x covariance.
        let sum = 0
        for (let m = 0; m < n; m++) {
          for (const image of images) sum += drawn.precision[i]![m]! * image[m]! * image[j]!
        }
        expect(Math.abs(sum - (i === j ? 1 : 0))).toBeLessThan(1e-3)
      }
    }
  })

  it('is not drawn from a precision that is not positive definite', () => {
    const drawn = randomCase(5, 1)
    const before = drawn.arena.floats(drawn.draw.row, 7).slice()
    drawn.arena.floats(drawn.draw.prior, 1)[0] = -1e6
    expect(drawn.arena.kernels.drawRow(drawn.draw)).toBeNaN()
    expect(drawn.arena.floats(drawn.draw.row, 7)).toEqual(before)
  })
})
