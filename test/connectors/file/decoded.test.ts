import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { unzipped } from '../../../src/connectors/file/unzipped.ts'
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
  for await (const piece of unzipped(pieces(bytes, size), 'part-0')) all.push(piece.slice())
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

  it.each([
    ['cut off', gzipSync(long).subarray(0, 900)],
    ['damaged', gzipSync(long).fill(0x55, 300, 320)],
  ])('fails if its gzip is %s', async (_, bytes) => {
    await expect(read(bytes, size)).rejects.toMatchObject({
      code: 'MALFORMED_DATA',
      details: { path: 'part-0' },
    })
  })
})
