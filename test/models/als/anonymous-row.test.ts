import { describe, expect, it } from 'vitest'
import { anonymousRow, haveBiases } from '../../../src/models/als/anonymous-row.ts'

const dot = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, value, i) => sum + value * b[i]!, 0)

describe('the row of a user that the model does not know', () => {
  const base = Float32Array.of(0, 0, 3, 1)
  const items = [Float32Array.of(1, 0.2, 1, 0.3), Float32Array.of(-0.4, 1, 1, -0.2)]

  it('is the base row without ratings', () => {
    expect(anonymousRow(base, [], 3)).toEqual(base)
  })

  it('minimises the squared errors plus the ridge: no small change is better', () => {
    const rated = items.map((row, i) => ({ row, rating: i === 0 ? 5 : 2 }))
    const loss = (row: Float32Array): number =>
      rated.reduce((sum, one) => sum + (one.rating - dot(row, one.row)) ** 2, 0) +
      0.1 * rated.length * row.reduce((sum, value, i) => sum + (value - base[i]!) ** 2, 0)
    const found = anonymousRow(base, rated, 3)
    for (const column of [0, 1, 2]) {
      for (const change of [-0.01, 0.01]) {
        const other = found.with(column, found[column]! + change)
        expect(loss(other)).toBeGreaterThan(loss(found))
      }
    }
  })

  it('keeps the constant column', () => {
    expect(anonymousRow(base, [{ row: items[0]!, rating: 5 }], 3)[3]).toBe(1)
  })

  it('likes an item without a rating more than the base row does', () => {
    const found = anonymousRow(base, [{ row: items[0]!, rating: undefined }], 3)
    expect(dot(found, items[0]!)).toBeGreaterThan(dot(base, items[0]!) + 0.5)
  })
})

describe('columns of biases', () => {
  it('are seen in the mean rows of both sides', () => {
    expect(haveBiases(Float32Array.of(0.1, 3, 1), Float32Array.of(0.2, 1, 0.4))).toBe(true)
    expect(haveBiases(Float32Array.of(0.1, 3, 1), Float32Array.of(0.2, 0.9, 0.4))).toBe(false)
    expect(haveBiases(Float32Array.of(0.1, 3, 0.5), Float32Array.of(0.2, 1, 0.4))).toBe(false)
  })
})
