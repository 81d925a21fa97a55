import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../../src/core/random.ts'
import { symmetricAxes } from '../../../../src/training/bmf/means/symmetric-axes.ts'

/** The sum of x x^T over `rank` random vectors. */
function gram(n: number, rank: number): Float64Array[] {
  const random = seededRandom(n)
  const matrix = Array.from({ length: n }, () => new Float64Array(n))
  for (let r = 0; r < rank; r++) {
    const x = Array.from({ length: n }, () => random.normal())
    for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) matrix[i]![j]! += x[i]! * x[j]!
  }
  return matrix
}

describe('the axes of a symmetric matrix', () => {
  it.each([
    [1, 1],
    [2, 2],
    [7, 20],
    [12, 5],
  ])('are orthonormal, and give back a matrix of %i rows and rank %i', (n, rank) => {
    const matrix = gram(n, rank)
    const { values, vectors } = symmetricAxes(matrix)
    expect(values).toEqual([...values].sort((a, b) => b - a))
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        const product = vectors[i]!.reduce((sum, x, k) => sum + x * vectors[j]![k]!, 0)
        expect(product).toBeCloseTo(i === j ? 1 : 0, 10)
        const element = values.reduce(
          (sum, value, k) => sum + value * vectors[k]![i]! * vectors[k]![j]!,
          0,
        )
        expect(element).toBeCloseTo(matrix[i]![j]!, 10)
      }
    }
    for (const value of values.slice(rank)) expect(Math.abs(value)).toBeLessThan(1e-10)
  })

  it('of zeros are the unit vectors', () => {
    const { values, vectors } = symmetricAxes([new Float64Array(2), new Float64Array(2)])
    expect(values).toEqual([0, 0])
    expect(vectors).toEqual([Float64Array.of(1, 0), Float64Array.of(0, 1)])
  })
})
