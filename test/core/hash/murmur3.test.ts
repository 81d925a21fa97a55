import { describe, expect, it } from 'vitest'
import { murmur3 } from '../../../src/core/hash/murmur3.ts'

const encoder = new TextEncoder()
const hashOf = (text: string, seed = 0): number => {
  const bytes = encoder.encode(text)
  return murmur3(bytes, 0, bytes.length, seed)
}

describe('MurmurHash3 of 32 bits', () => {
  it('has the verification value of SMHasher, over 256 lengths and seeds', () => {
    const key = Uint8Array.from({ length: 256 }, (_, i) => i)
    const hashes = new DataView(new ArrayBuffer(4 * 256))
    for (let n = 0; n < 256; n++) hashes.setUint32(4 * n, murmur3(key, 0, n, 256 - n), true)
    expect(murmur3(new Uint8Array(hashes.buffer))).toBe(0xb0f57ee3)
  })

  it('has the values of the tests of scikit-learn', () => {
    // sklearn/utils/tests/test_murmurhash.py
    expect(hashOf('foo') | 0).toBe(-156908512)
    expect(hashOf('foo', 42) | 0).toBe(-1322301282)
    const three = Uint8Array.of(3, 0, 0, 0)
    expect(murmur3(three) | 0).toBe(847579505)
    expect(murmur3(three, 0, 4, 42) | 0).toBe(-1823081949)
  })

  it('reads only the bytes between start and end', () => {
    const bytes = encoder.encode('..foo..')
    expect(murmur3(bytes, 2, 3)).toBe(hashOf('foo'))
  })
})
