import { describe, expect, it } from 'vitest'
import { crc32c, crc32cInSlices } from '../../../src/core/hash/crc32c.ts'
import { seededRandom } from '../../../src/core/random.ts'

/** Bit by bit, straight from the definition. */
function plainCrc32c(bytes: Uint8Array): number {
  let crc = ~0
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1
  }
  return ~crc >>> 0
}

describe('crc32c', () => {
  it('gives the check value and the vectors of RFC 3720', () => {
    expect(crc32c(new TextEncoder().encode('123456789'))).toBe(0xe3069283)
    expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa)
    expect(crc32c(new Uint8Array(32).fill(0xff))).toBe(0x62a8ab43)
    expect(crc32c(Uint8Array.from({ length: 32 }, (_, i) => i))).toBe(0x46dd794e)
  })

  it('equals the bit-by-bit definition at every length and alignment', () => {
    const random = seededRandom(1)
    const bytes = Uint8Array.from({ length: 100 }, () => random.below(256))
    for (let start = 0; start < 9; start++) {
      for (let end = start; end <= bytes.length; end++) {
        expect(crc32c(bytes, start, end)).toBe(plainCrc32c(bytes.subarray(start, end)))
      }
    }
  })

  it('gives the same for long inputs with and without the native module, also in parts', () => {
    const random = seededRandom(2)
    const bytes = Uint8Array.from({ length: 20_000 }, () => random.below(256))
    for (const [start, end] of [
      [0, 20_000],
      [3, 2051],
      [7, 9000],
      [1, 2048],
    ] as const) {
      const expected = plainCrc32c(bytes.subarray(start, end))
      expect(crc32c(bytes, start, end)).toBe(expected)
      expect(crc32cInSlices(bytes, start, end, 0)).toBe(expected)
      const before = crc32c(bytes, 0, start)
      const whole = plainCrc32c(bytes.subarray(0, end))
      expect(crc32c(bytes, start, end, before)).toBe(whole)
      expect(crc32cInSlices(bytes, start, end, before)).toBe(whole)
    }
  })

  it('can be taken in parts', () => {
    const bytes = new Uint8Array(50).fill(3)
    expect(crc32c(bytes, 20, 50, crc32c(bytes, 0, 20))).toBe(crc32c(bytes))
  })
})
