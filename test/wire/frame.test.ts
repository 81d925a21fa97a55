import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/core/random.ts'
import { FrameReader, KIND } from '../../src/wire/frame.ts'
import { written } from './example-frames.ts'

/** Some frames of different lengths back to back; the request id is the frame's number. */
function frames(count: number, bodyBytes: (i: number) => number): Uint8Array {
  return written((writer) => {
    for (let i = 1; i <= count; i++) {
      writer.begin(KIND.ping, i % 4, i)
      writer.raw(new Uint8Array(bodyBytes(i)).fill(i))
      writer.end(i)
    }
  })
}

function readAll(reader: FrameReader): string[] {
  const seen: string[] = []
  while (reader.next()) {
    const body = reader.bytes.subarray(reader.start + 12, reader.end)
    expect(body.every((byte) => byte === (reader.requestId & 0xff))).toBe(true)
    seen.push(`${reader.requestId}:${reader.count}:${reader.flags}:${body.length}`)
  }
  return seen
}

describe('FrameReader', () => {
  const stream = frames(5, (i) => i * 3)
  const expected = [1, 2, 3, 4, 5].map((i) => `${i}:${i}:${i % 4}:${i * 3}`)

  it('reads all frames of a chunk', () => {
    const reader = new FrameReader(() => 1024)
    reader.append(stream)
    expect(readAll(reader)).toEqual(expected)
    expect(reader.buffered).toBe(0)
  })

  it('keeps copies of short and long frames, and reads some between them', () => {
    const mixed = frames(40, (i) => (i % 3 === 0 ? 700 : i))
    const cut = new FrameReader(() => 1024)
    cut.append(mixed)
    const reader = new FrameReader(() => 1024)
    const seen: string[] = []
    while (cut.next()) {
      reader.appendCopy(cut.bytes, cut.start, cut.end)
      if (cut.requestId % 4 === 0) seen.push(...readAll(reader))
    }
    mixed.fill(0)
    const lengths = Array.from({ length: 40 }, (_, i) => ((i + 1) % 3 === 0 ? 700 : i + 1))
    expect(seen).toEqual(lengths.map((length, i) => `${i + 1}:${i + 1}:${(i + 1) % 4}:${length}`))
  })

  it('reads frames split in two at every byte', () => {
    for (let split = 0; split <= stream.length; split++) {
      const reader = new FrameReader(() => 1024)
      reader.append(stream.subarray(0, split))
      const seen = readAll(reader)
      reader.append(stream.subarray(split))
      expect([...seen, ...readAll(reader)]).toEqual(expected)
    }
  })

  it('reads frames that arrive byte by byte', () => {
    const reader = new FrameReader(() => 1024)
    const seen: string[] = []
    for (const byte of stream) {
      reader.append(Uint8Array.of(byte))
      seen.push(...readAll(reader))
    }
    expect(seen).toEqual(expected)
  })

  it('reads a long stream in pieces of random length, reusing the chunk memory', () => {
    const random = seededRandom(1)
    const long = frames(300, (i) => (i * 7919) % 900)
    const reader = new FrameReader(() => 4096)
    const chunk = new Uint8Array(1500)
    let seen = 0
    for (let at = 0; at < long.length; ) {
      const size = Math.min(1 + random.below(1500), long.length - at)
      chunk.set(long.subarray(at, at + size))
      reader.append(chunk.subarray(0, size))
      seen += readAll(reader).length
      reader.detach()
      chunk.fill(0xee)
      at += size
    }
    expect(seen).toBe(300)
  })

  it('refuses a length that cannot hold the header', () => {
    const reader = new FrameReader(() => 1024)
    reader.append(Uint8Array.of(7, 0, 0, 0))
    expect(() => reader.next()).toThrow(expect.objectContaining({ code: 'PROTOCOL_ERROR' }))
  })

  it('refuses a length above the limit before its bytes arrive', () => {
    const reader = new FrameReader(() => 1024)
    reader.append(Uint8Array.of(1, 4, 0, 0))
    expect(() => reader.next()).toThrow(expect.objectContaining({ code: 'FRAME_TOO_LARGE' }))
  })

  it('says of a chunk whether it was copied', () => {
    const reader = new FrameReader(() => 1024)
    expect(reader.append(Uint8Array.of(200, 0, 0, 0))).toBe(false)
    expect(reader.next()).toBe(false)
    expect(reader.append(new Uint8Array(196))).toBe(true)
  })

  it('keeps no more memory than the bytes received need', () => {
    const reader = new FrameReader(() => 64 * 1024 * 1024)
    reader.append(Uint8Array.of(0, 0, 0, 2, 1))
    expect(reader.next()).toBe(false)
    reader.append(Uint8Array.of(1))
    expect(reader.next()).toBe(false)
    expect(reader.bytes.buffer.byteLength).toBeLessThanOrEqual(4096)
  })

  it('keeps the memory of a long frame while long frames come, and leaves it to others afterwards', () => {
    const long = frames(1, () => 300 * 1024)
    const reader = new FrameReader(() => 1 << 20)
    const memoryOf = (one: FrameReader): ArrayBufferLike => {
      one.append(long.subarray(0, 70_000))
      expect(one.next()).toBe(false)
      one.append(long.subarray(70_000))
      expect(one.next()).toBe(true)
      return one.bytes.buffer
    }
    const first = memoryOf(reader)
    reader.shrink()
    expect(memoryOf(reader)).toBe(first)
    reader.shrink()
    expect(reader.bytes.buffer).toBe(first)
    reader.shrink()
    expect(reader.bytes).toHaveLength(0)
    expect(memoryOf(new FrameReader(() => 1 << 20))).toBe(first)
  })
})

it.each([
  ['HTTP/1.1 400 Bad Request', 'HTTP'],
  ['GET / HTTP/1.1', 'HTTP'],
  ['SSH-2.0-OpenSSH_9.6', 'SSH'],
])('names the protocol of a peer that sends "%s"', (text, protocol) => {
  const reader = new FrameReader(() => 4096)
  reader.append(Buffer.from(text))
  expect(() => reader.next()).toThrow(
    expect.objectContaining({
      code: 'PROTOCOL_ERROR',
      message: expect.stringContaining(`speaks ${protocol}`),
    }),
  )
})
