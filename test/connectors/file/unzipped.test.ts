import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { unzipped } from '../../../src/connectors/file/unzipped.ts'

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

const TEXT = Array.from({ length: 5000 }, (_, i) => `${i}\t${(i * 7919) % 5000}\t3\n`).join('')

describe.each([1, 3, 1000])('a file in pieces of %i bytes', (size) => {
  it.each(['', '1', TEXT])('is given as it is if it is not gzip', async (text) => {
    expect(await read(Buffer.from(text), size)).toBe(text)
  })

  it('is unpacked if it is gzip, of one member or several', async () => {
    expect(await read(gzipSync(TEXT), size)).toBe(TEXT)
    expect(await read(Buffer.concat([gzipSync(TEXT), gzipSync('more')]), size)).toBe(`${TEXT}more`)
  })

  it.each([
    ['cut off', gzipSync(TEXT).subarray(0, 900)],
    ['damaged', gzipSync(TEXT).fill(0x55, 300, 320)],
  ])('fails if its gzip is %s', async (_, bytes) => {
    await expect(read(bytes, size)).rejects.toMatchObject({
      code: 'MALFORMED_DATA',
      details: { path: 'part-0' },
    })
  })
})
