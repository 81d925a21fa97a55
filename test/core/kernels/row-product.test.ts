import { describe, expect, it } from 'vitest'
import { innerProduct } from '../../../src/core/kernels/inner-product.ts'
import { rowProductOf } from '../../../src/core/kernels/row-product.ts'

const memoryOf = (pages: number): WebAssembly.Memory =>
  new WebAssembly.Memory({ initial: pages, maximum: 16, shared: true })

/** Fills a memory with floats of many magnitudes. */
function filled(memory: WebAssembly.Memory, seed: number): Float32Array {
  const floats = new Float32Array(memory.buffer)
  let state = seed
  for (let i = 0; i < floats.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0
    floats[i] = (state / 2 ** 31) * 2 ** ((state >>> 8) % 24)
  }
  return floats
}

describe('the product of rows in two memories', () => {
  it('is that of innerProduct, bit by bit', () => {
    const [left, right] = [memoryOf(1), memoryOf(2)]
    const [a, b] = [filled(left, 1), filled(right, 2)]
    const product = rowProductOf(left, right)!
    for (let n = 0; n < 500; n++) {
      const length = 4 * (1 + (n % 50))
      const [x, y] = [n * 7, n * 61]
      expect(product(4 * x, 4 * y, length / 4), String(n)).toBe(innerProduct(a, x, b, y, length))
    }
  })

  it('keeps zeros with their signs, infinities and NaN', () => {
    const [left, right] = [memoryOf(1), memoryOf(1)]
    const [a, b] = [new Float32Array(left.buffer), new Float32Array(right.buffer)]
    const product = rowProductOf(left, right)!
    for (const value of [-0, 0, Number.POSITIVE_INFINITY, Number.NaN, 2 ** -149, -(2 ** 127)]) {
      a.fill(value, 0, 8)
      b.fill(-1, 0, 8)
      expect(product(0, 0, 2)).toBe(innerProduct(a, 0, b, 0, 8))
    }
  })

  it('reads what a memory has after it grew', () => {
    const [left, right] = [memoryOf(1), memoryOf(1)]
    const product = rowProductOf(left, right)!
    left.grow(1)
    const end = 2 * 65536
    new Float32Array(left.buffer).fill(2, end / 4 - 4, end / 4)
    new Float32Array(right.buffer).fill(3, 0, 4)
    expect(product(end - 16, 0, 1)).toBe(24)
    expect(() => product(end - 12, 0, 1)).toThrow(WebAssembly.RuntimeError)
  })
})
