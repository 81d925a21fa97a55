import { describe, expect, it } from 'vitest'
import { innerProduct } from '../../../src/core/kernels/inner-product.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { plainDot } from './plain-kernels.ts'

describe('innerProduct', () => {
  it.each([0, 1, 3, 4, 7, 64, 101])('sums %i products from any place of two arrays', (length) => {
    const random = seededRandom(length)
    const a = Float32Array.from({ length: length + 5 }, () => random.next() - 0.5)
    const b = Float32Array.from({ length: length + 3 }, () => random.next() - 0.5)
    const expected = plainDot(a.subarray(5), b.subarray(3))
    expect(innerProduct(a, 5, b, 3, length)).toBeCloseTo(expected, 12)
  })
})
