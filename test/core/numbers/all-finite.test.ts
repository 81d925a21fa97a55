import { describe, expect, it } from 'vitest'
import { allFinite } from '../../../src/core/numbers/all-finite.ts'

describe('allFinite', () => {
  it('takes the largest and smallest floats', () => {
    expect(allFinite(Float32Array.of(3.4e38, 3.4e38, -3.4e38, 1e-45, 3.4e38))).toBe(true)
    expect(allFinite(new Float32Array(0))).toBe(true)
  })

  it.each([Number.NaN, Infinity, -Infinity])('finds %d at every place', (value) => {
    for (let length = 1; length < 10; length++) {
      for (let at = 0; at < length; at++) {
        expect(allFinite(new Float32Array(length).fill(value, at, at + 1))).toBe(false)
      }
    }
  })
})
