import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { crc32Combine } from '../../../src/core/hash/crc32-combine.ts'
import { seededRandom } from '../../../src/core/random.ts'

const random = seededRandom(7)

function randomBytes(length: number): Uint8Array {
  return Uint8Array.from({ length }, () => random.below(256))
}

const LENGTHS: readonly (readonly [number, number])[] = [
  [0, 0],
  [1, 0],
  [0, 5],
  [3, 7],
  [1000, 16_384],
  [16_384, 17_001],
  [40_000, 1],
]

test.each(LENGTHS)('the checksum of %d and %d bytes follows from the two', (first, second) => {
  const bytes = randomBytes(first + second)
  const combined = crc32Combine(
    crc32(bytes.subarray(0, first)),
    crc32(bytes.subarray(first)),
    second,
  )
  expect(combined).toBe(crc32(bytes))
})

test('many pieces, one after the other, give the checksum of the whole', () => {
  const bytes = randomBytes(100_000)
  let crc = 0
  for (let at = 0; at < bytes.length; at += 16_411) {
    const piece = bytes.subarray(at, at + 16_411)
    crc = crc32Combine(crc, crc32(piece), piece.length)
  }
  expect(crc).toBe(crc32(bytes))
})
