import { describe, expect, it } from 'vitest'
import { type Codec, compress, decompress } from '../../src/batch/compression.ts'
import { unpackLz4 } from '../../src/batch/lz4-frame.ts'
import { unpackSnappy } from '../../src/batch/snappy-stream.ts'
import { isWeirError } from '../../src/core/errors.ts'
import { seededRandom } from '../../src/core/random.ts'

const CODECS: readonly Codec[] = ['gzip', 'snappy', 'lz4', 'zstd']
const repetitive = (length: number): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => (i % 97) ^ ((i >>> 9) & 3))

describe.each(CODECS)('%s', (codec) => {
  it.each([0, 1, 1_000, 32_768, 32_769, 300_000])('gives back %i bytes', (length) => {
    const bytes = repetitive(length)
    const unpacked = decompress(codec, compress(codec, bytes))
    expect(Buffer.compare(unpacked, bytes)).toBe(0)
  })

  it('throws only MALFORMED_DATA for broken bytes', () => {
    const random = seededRandom(3)
    const packed = compress(codec, repetitive(5_000))
    for (let round = 0; round < 300; round++) {
      const broken = packed.slice(0, 1 + random.below(packed.length))
      broken[random.below(broken.length)]! ^= 1 << random.below(8)
      try {
        decompress(codec, broken)
      } catch (error) {
        expect(isWeirError(error, 'MALFORMED_DATA')).toBe(true)
      }
    }
    expect(() => decompress(codec, packed.subarray(0, packed.length >> 1))).toThrow(/broken/)
  })
})

describe('snappy', () => {
  it('reads a single block without the Java framing, as other clients write it', () => {
    // "aaaaaaaaaa": length 10, literal "a", copy of 9 bytes at offset 1.
    const block = Uint8Array.of(10, 0, 0x61, (5 << 2) | 1, 1)
    expect(Buffer.from(decompress('snappy', block)).toString()).toBe('a'.repeat(10))
  })

  it('begins its stream as the Java client does', () => {
    const packed = Buffer.from(compress('snappy', Uint8Array.of(1, 2, 3)))
    expect(packed.toString('hex', 0, 20)).toBe('82534e4150505900000000010000000100000005')
  })

  it('refuses a block that would unpack to more than the limit', () => {
    const packed = compress('snappy', repetitive(100_000))
    expect(() => unpackSnappy(packed, 99_999)).toThrow(/more than is allowed/)
  })
})

describe('lz4', () => {
  it('refuses a frame whose blocks may unpack to more than the limit', () => {
    const packed = compress('lz4', repetitive(1_000_000))
    expect(() => unpackLz4(packed, 900_000)).toThrow(/more than is allowed/)
  })
})
