import { describe, expect, it } from 'vitest'
import { areAlike, scaleOf } from '../../../src/operators/folds/agreement.ts'

describe('values that are alike', () => {
  it('have the same fields', () => {
    expect(areAlike({ a: [1, { b: null }] }, { a: [1, { b: null }] })).toBe(true)
    expect(areAlike({ a: 1 }, { a: 1, b: undefined })).toBe(false)
    expect(areAlike({ a: 1 }, { b: 1 })).toBe(false)
    expect(areAlike([1, 2], [1, 2, 3])).toBe(false)
    expect(areAlike([], {})).toBe(false)
    expect(areAlike(null, {})).toBe(false)
    expect(areAlike(Number.NaN, Number.NaN)).toBe(true)
    expect(areAlike(1, 1.001)).toBe(false)
  })

  it('are maps, sets and dates with the same content', () => {
    expect(areAlike(new Map([[1, { a: 2 }]]), new Map([[1, { a: 2 }]]))).toBe(true)
    expect(areAlike(new Map([[1, 2]]), new Map([[1, 3]]))).toBe(false)
    expect(
      areAlike(
        new Map([
          ['a', 1],
          ['b', 2],
        ]),
        new Map([
          ['b', 2],
          ['a', 1],
        ]),
      ),
    ).toBe(true)
    expect(areAlike(new Map([[[1], 2]]), new Map([[[1], 2]]))).toBe(true)
    expect(areAlike(new Set([1, 2]), new Set([2, 1]))).toBe(true)
    expect(areAlike(new Set([[1]]), new Set([[1]]))).toBe(true)
    expect(areAlike(new Set([1]), new Set([2]))).toBe(false)
    expect(areAlike(new Date(5), new Date(5))).toBe(true)
    expect(areAlike(new Date(5), new Date(6))).toBe(false)
  })

  it('differ by no more than the rounding of the numbers of their calculation', () => {
    const numbers = [1e16, 1, -1e16, { more: 3 }]
    expect(scaleOf(numbers)).toBe(1e16)
    expect(scaleOf(new Map([['a', -7]]))).toBe(7)
    expect(scaleOf([Number.NaN, Number.POSITIVE_INFINITY, null, 'text'])).toBe(0)
    expect(areAlike(1, 0, scaleOf(numbers))).toBe(true)
    expect(areAlike(1, 0, 10)).toBe(false)
  })
})
