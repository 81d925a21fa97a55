import { constants, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { decoded } from '../../../src/connectors/file/decoded.ts'
import { campaignSize } from '../../run/campaign-size.ts'

/** The bytes in pieces of one buffer, each valid until the next. */
async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  const piece = new Uint8Array(size)
  for (let at = 0; at < bytes.length; at += size) {
    const part = bytes.subarray(at, at + size)
    piece.set(part)
    yield piece.subarray(0, part.length)
  }
}

async function read(bytes: Uint8Array, size: number): Promise<string> {
  const all: Uint8Array[] = []
  for await (const piece of decoded(pieces(bytes, size), 'part-0')) all.push(piece.slice())
  return Buffer.concat(all).toString()
}

const lines = (count: number): string =>
  Array.from({ length: count }, (_, i) => `${i}\t${(i * 7919) % 5000}\t3\n`).join('')

describe.each([
  { size: 1, text: lines(campaignSize(500, 5_000)) },
  { size: 3, text: lines(campaignSize(500, 5_000)) },
  { size: 1000, text: lines(5_000) },
])('a file in pieces of $size bytes', ({ size, text: long }) => {
  it.each(['', '1', long])('is given as it is if it is not gzip', async (text) => {
    expect(await read(Buffer.from(text), size)).toBe(text)
  })

  it('is unpacked if it is gzip, of one member or several', async () => {
    expect(await read(gzipSync(long), size)).toBe(long)
    expect(await read(Buffer.concat([gzipSync(long), gzipSync('more')]), size)).toBe(`${long}more`)
  })

  it('is unpacked if it is zstd, of one frame or several', async () => {
    expect(await read(zstdCompressSync(long), size)).toBe(long)
    const checked = { params: { [constants.ZSTD_c_checksumFlag]: 1 } }
    // A frame without data, of three bytes.
    const skipped = Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3])
    const frames = [
      ...[zstdCompressSync(long, checked), skipped, zstdCompressSync('more')],
      ...[zstdCompressSync('x'.repeat(300_000)), zstdCompressSync('', checked), skipped],
    ]
    const text = `${long}more${'x'.repeat(300_000)}`
    expect(await read(Buffer.concat(frames), size)).toBe(text)
  })

  it.each(['utf16le', 'utf16be'])(
    'is recoded if it is %s with a byte order mark',
    async (order) => {
      const text = Buffer.from(`\ufeff${long}é😀\n`, 'utf16le')
      const bytes = order === 'utf16be' ? text.swap16() : text
      expect(await read(bytes, size)).toBe(`${long}é😀\n`)
      expect(await read(gzipSync(bytes), size)).toBe(`${long}é😀\n`)
    },
  )

  it('fails if it is half of a character of UTF-16', async () => {
    const bytes = Buffer.from(`\ufeff${long}`, 'utf16le').subarray(0, -1)
    await expect(read(bytes, size)).rejects.toMatchObject({ code: 'MALFORMED_DATA' })
  })

  it('is refused if it is of a format without lines, packed or not', async () => {
    const parquet = Buffer.concat([Buffer.from('PAR1'), Buffer.alloc(1000)])
    for (const bytes of [parquet, gzipSync(parquet), zstdCompressSync(parquet)]) {
      await expect(read(bytes, size)).rejects.toThrow('part-0 is a Parquet file')
    }
  })

  it.each([
    ['cut off', zstdCompressSync(long).subarray(0, 300)],
    ['cut off', gzipSync(long).subarray(0, 900)],
    ['damaged', gzipSync(long).fill(0x55, 300, 320)],
  ])('fails if what is packed is %s', async (_, bytes) => {
    await expect(read(bytes, size)).rejects.toMatchObject({
      code: 'MALFORMED_DATA',
      details: { path: 'part-0' },
    })
  })
})
