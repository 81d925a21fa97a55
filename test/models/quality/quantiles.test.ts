import { describe, expect, it } from 'vitest'
import { studentQuantile } from '../../../src/models/quality/quantiles.ts'

describe('quantiles', () => {
  it.each([
    [1, 12.7062],
    [2, 4.30265],
    [3, 3.18245],
    [5, 2.57058],
    [10, 2.22814],
    [30, 2.04227],
    [1000, 1.96234],
  ])("Student's of 0.975 with %d degrees of freedom is that of the tables", (degrees, expected) => {
    expect(studentQuantile(0.975, degrees) / expected).toBeCloseTo(1, 3)
  })

  it("Student's falls with the degrees of freedom, whole or not", () => {
    const degrees = [1, 1.5, 2, 2.5, 4, 4.9, 5, 7.3, 20, 200]
    const quantiles = degrees.map((each) => studentQuantile(0.99, each))
    expect(quantiles).toEqual([...quantiles].sort((a, b) => b - a))
  })
})
