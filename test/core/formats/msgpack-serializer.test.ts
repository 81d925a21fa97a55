import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { msgpackFormat } from '../../../src/core/formats/msgpack.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import type { Serializer } from '../../../src/core/serializer.ts'

function copyOf<T>(value: T, serializer: Serializer<T> = msgpackSerializer<T>()): T {
  const writer = new ByteWriter(16)
  serializer.write(value, writer)
  return serializer.read(new ByteReader(writer.toBytes()))
}

describe('msgpackSerializer', () => {
  it.each([
    [
      'a Map with keys of any type',
      new Map<unknown, unknown>([
        [1, 'a'],
        ['b', { c: 2 }],
        [5n, null],
      ]),
    ],
    ['an empty Map', new Map()],
    ['a Map in a Map', new Map([[1, new Map([[2, 3]])]])],
    [
      'a Map in fields and arrays',
      { a: [new Map([[1, 2]])], b: { c: new Map([['d', new Date(5)]]) } },
    ],
    ['a Map beside a Set', { map: new Map([[1, 2]]), set: new Set([1, 'x']) }],
    ['a Set', new Set([1, 'x'])],
    ['a bigint', [5n, -(2n ** 63n), 10n ** 40n]],
    ['a Date', new Date(1_700_000_000_123)],
    ['a typed array', new Float32Array([1.5, -2])],
    ['plain data', { a: [1, 'b', null, true, undefined], c: { d: 1.5 } }],
  ])('keeps %s', (_, value) => {
    expect(copyOf<unknown>(value)).toEqual(value)
  })

  it('packs a value without a Map after one with a Map', () => {
    copyOf(new Map([[1, 2]]))
    expect(copyOf({ a: 1 })).toEqual({ a: 1 })
  })

  it('reads what it wrote before Maps were kept', () => {
    const before = Uint8Array.from(Buffer.from('de0001a16101', 'hex'))
    expect(msgpackSerializer().read(new ByteReader(before))).toEqual({ a: 1 })
  })

  it('throws MALFORMED_DATA for other bytes', () => {
    const bytes = Uint8Array.of(0x92, 0x01)
    expect(() => msgpackSerializer().read(new ByteReader(bytes))).toThrow(
      expect.objectContaining({ code: 'MALFORMED_DATA' }),
    )
  })
})

describe('msgpackFormat', () => {
  it('writes a Map as other libraries do', () => {
    expect(copyOf<unknown>(new Map([['a', 1]]), msgpackFormat())).toEqual({ a: 1 })
    expect(copyOf<unknown>(new Map([['a', 1]]))).toEqual(new Map([['a', 1]]))
  })
})
