import { describe, expect, it } from 'vitest'
import { isWeirError } from '../../../src/core/errors.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { type Codec, compress, decompress } from '../../../src/wire/batch/compression.ts'
import { unpackLz4 } from '../../../src/wire/batch/lz4-frame.ts'
import { unpackSnappy } from '../../../src/wire/batch/snappy-stream.ts'
import { unpackZstd } from '../../../src/wire/batch/zstd-frame.ts'

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

  it('makes no room for a length that a block cannot have', () => {
    // 60 bytes say that they are 100 million.
    const lying = Buffer.concat([Buffer.from('80c2d72f', 'hex'), Buffer.alloc(56)])
    expect(() => unpackSnappy(lying, 200_000_000)).toThrow(/fewer bytes than its length needs/)
    expect(unpackSnappy(compress('snappy', new Uint8Array(1_000_000)), 1_000_000)).toHaveLength(
      1_000_000,
    )
  })
})

describe('lz4', () => {
  it('refuses a frame whose blocks may unpack to more than the limit', () => {
    const packed = compress('lz4', repetitive(1_000_000))
    expect(() => unpackLz4(packed, 900_000)).toThrow(/more than is allowed/)
  })
})

/** A frame without records, of 3 bytes. */
const SKIPPABLE = '5a2a4d1803000000010203'

describe('records in several frames', () => {
  it.each([
    // Written by zstd 1.5 and lz4 1.9, with and without checksums.
    ['zstd', '28b52ffd0458310000666972737420d2fdb511', '28b52ffd00583100007365636f6e64'],
    [
      'lz4',
      '04224d186440a70600008066697273742000000000ea0562ac',
      '04224d187040ad060000807365636f6e64dd5dd6ef00000000',
    ],
  ] as const)(
    'of %s are joined, and frames without records are left out',
    (codec, first, second) => {
      const unpacked = (...frames: readonly string[]): string =>
        Buffer.from(decompress(codec, Buffer.from(frames.join(''), 'hex'))).toString()
      expect(unpacked(first, second)).toBe('first second')
      expect(unpacked(second, first, second)).toBe('secondfirst second')
      expect(unpacked(SKIPPABLE, first, SKIPPABLE, second, SKIPPABLE)).toBe('first second')
      expect(unpacked(SKIPPABLE, second)).toBe('second')
      const broken = `the ${codec} data is broken`
      expect(() => unpacked(SKIPPABLE)).toThrow(`${broken}: it has no frame`)
      expect(() => unpacked(first, second.slice(0, -2))).toThrow(`${broken}: a frame is incomplete`)
      expect(() => unpacked(first, '00')).toThrow(broken)
      expect(() => unpacked(first, SKIPPABLE.slice(0, -2))).toThrow(
        `${broken}: a frame is incomplete`,
      )
    },
  )

  it('of zstd may have blocks of one repeated byte', () => {
    const zeros = Buffer.from(
      '28b52ffd04585400001000000100fbff39c00202001000039f04002d28de26',
      'hex',
    )
    const packed = Buffer.concat([zeros, compress('zstd', Uint8Array.of(1)), zeros])
    const unpacked = decompress('zstd', packed)
    expect(unpacked.length).toBe(600_001)
    expect(unpacked.indexOf(1)).toBe(300_000)
  })

  it.each(CODECS)('of %s give back what each has', (codec) => {
    const parts = [repetitive(70_000), repetitive(1), repetitive(40_000)]
    const packed = Buffer.concat(parts.map((part) => compress(codec, part)))
    expect(Buffer.compare(decompress(codec, packed), Buffer.concat(parts))).toBe(0)
  })

  it('may together unpack to no more than the limit', () => {
    const frame = compress('lz4', repetitive(1_000))
    const two = Buffer.concat([frame, frame])
    expect(() => unpackLz4(two, 66_000)).toThrow(/more than is allowed/)
    const packed = compress('snappy', repetitive(1_000))
    expect(() => unpackSnappy(Buffer.concat([packed, packed]), 1_999)).toThrow(
      /more than is allowed/,
    )
    expect(unpackSnappy(Buffer.concat([packed, packed]), 2_000)).toHaveLength(2_000)
    const zstd = compress('zstd', repetitive(1_000))
    expect(() => unpackZstd(Buffer.concat([zstd, zstd]), 1_999)).toThrow()
    expect(unpackZstd(Buffer.concat([zstd, zstd]), 2_000)).toHaveLength(2_000)
  })
})
