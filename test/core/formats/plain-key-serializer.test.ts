import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import {
  type PlainKey,
  plainKeySerializer,
  rawKeySerializer,
} from '../../../src/core/formats/plain-key-serializer.ts'
import { seededRandom } from '../../../src/core/random.ts'

const serializer = plainKeySerializer()

function bytesOf(key: unknown): Uint8Array {
  const writer = new ByteWriter(1)
  serializer.write(key as PlainKey, writer)
  return writer.toBytes()
}

const hex = (key: unknown): string => Buffer.from(bytesOf(key)).toString('hex')
const back = (key: PlainKey): PlainKey => serializer.read(new ByteReader(bytesOf(key)))

describe('plainKeySerializer', () => {
  it('never changes its bytes', () => {
    expect(hex('42-U')).toBe('34322d55')
    expect(hex('größe')).toBe(Buffer.from('größe').toString('hex'))
    expect(hex('')).toBe('')
    expect(hex(1)).toBe('f8bff0000000000000')
    expect(hex(-1)).toBe('f8400fffffffffffff')
    expect(hex(true)).toBe('f901')
    expect(hex(-12n)).toBe('fa2d3132')
    expect(hex(['a', 1])).toBe('fb0000000161' + '00000009f8bff0000000000000')
  })

  it('refuses bytes that are no key with MALFORMED_DATA: a bigint without digits, tuples without end', () => {
    const tuple = (inner: Uint8Array): Uint8Array => {
      const head = Buffer.from([0xfb, 0, 0, 0, 0])
      head.writeUInt32BE(inner.length, 1)
      return Buffer.concat([head, inner])
    }
    let deep: Uint8Array = Buffer.from('a')
    for (let i = 0; i < 2_000; i++) deep = tuple(deep)
    for (const bytes of [Buffer.from('fa2d', 'hex'), Buffer.from('fa3178', 'hex'), deep]) {
      expect(() => serializer.read(new ByteReader(bytes))).toThrow(
        expect.objectContaining({ code: 'MALFORMED_DATA' }),
      )
    }
  })

  it('gives keys of different types different bytes', () => {
    const keys: PlainKey[] = ['1', 1, 1n, true, ['1'], [1], [['1']], 'true', '', [], ['', '']]
    expect(new Set(keys.map(hex)).size).toBe(keys.length)
  })

  it('reads every key back', () => {
    const long = 'é'.repeat(100)
    const keys: PlainKey[] = ['', 'a', long, 'x'.repeat(200), 0, -0.5, 1e300, Infinity, false]
    for (const key of [...keys, 123456789012345678901234567890n, ['a', [1, 'b'], true]]) {
      expect(back(key)).toEqual(key)
    }
  })

  it('orders numbers as their bytes', () => {
    const random = seededRandom(5)
    const numbers = [0, -1, 1, 1e-300, -1e-300, 1e300, -1e300, -Infinity, Infinity]
    for (let i = 0; i < 200; i++) numbers.push((random.next() - 0.5) * 10 ** random.below(40))
    const sorted = [...numbers].sort((a, b) => a - b)
    const byBytes = [...numbers].sort((a, b) => Buffer.compare(bytesOf(a), bytesOf(b)))
    expect(byBytes).toEqual(sorted)
  })

  it('writes minus zero as zero', () => {
    expect(hex(-0)).toBe(hex(0))
  })

  it('refuses values without canonical bytes, and says what to do', () => {
    expect(() => bytesOf(Number.NaN)).toThrow(/not NaN/)
    expect(() => bytesOf('\ud800')).toThrow(/not a string with a lone surrogate/)
    expect(() => bytesOf(null)).toThrow(/not null/)
    expect(() => bytesOf(undefined)).toThrow(/not undefined: look at the function of keyBy/)
    expect(() => bytesOf(new Uint8Array(1))).toThrow(/pass rawKeySerializer as second argument/)
  })

  it('refuses bytes that no key has', () => {
    expect(() => serializer.read(new ByteReader(Uint8Array.from([0xff])))).toThrow(
      /a key cannot start with the byte 255/,
    )
  })
})

describe('rawKeySerializer', () => {
  it('does not change bytes', () => {
    const writer = new ByteWriter()
    rawKeySerializer.write(Uint8Array.from([0, 255]), writer)
    expect([...writer.toBytes()]).toEqual([0, 255])
  })
})
