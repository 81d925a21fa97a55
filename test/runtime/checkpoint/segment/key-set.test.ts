import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../../src/core/random.ts'
import { KeySet } from '../../../../src/runtime/checkpoint/segment/key-set.ts'

describe('KeySet', () => {
  it('distinguishes new keys from old ones, as a set of strings does', () => {
    const random = seededRandom(5)
    const keys = new KeySet()
    const oracle = new Set<string>()
    for (let i = 0; i < 20_000; i++) {
      const [group, state, number] = [random.below(3), random.below(3), random.below(3000)]
      const text = `${group}/${state}/${number}`
      expect(keys.add(group, state, Buffer.from(`${number}`))).toBe(!oracle.has(text))
      oracle.add(text)
    }
    expect(keys.size).toBe(oracle.size)
  })

  it('holds the empty key and keys of any bytes', () => {
    const keys = new KeySet()
    expect(keys.add(0, 0, new Uint8Array(0))).toBe(true)
    expect(keys.add(0, 0, new Uint8Array(0))).toBe(false)
    expect(keys.add(0, 0, new Uint8Array(100_000))).toBe(true)
    expect(keys.add(0, 0, new Uint8Array(100_000))).toBe(false)
  })

  it('is empty after it is cleared', () => {
    const keys = new KeySet()
    keys.add(1, 2, new Uint8Array([3]))
    keys.clear()
    expect(keys.size).toBe(0)
    expect(keys.add(1, 2, new Uint8Array([3]))).toBe(true)
  })
})
