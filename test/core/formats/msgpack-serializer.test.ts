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

function withoutElement(array: unknown[], index: number): unknown[] {
  delete array[index]
  return array
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
    ['undefined in an array beside a bigint', [undefined, 5n]],
    ['undefined in a Set', new Set([5n, undefined])],
  ])('keeps %s', (_, value) => {
    expect(copyOf<unknown>(value)).toEqual(value)
  })

  it.each([
    ['alone', '{"__proto__":1}'],
    ['beside others', '{"a":1,"__proto__":{"admin":true},"b":{"c":2}}'],
    ['in fields and arrays', '{"a":[{"__proto__":[]}],"b":{"__proto__":{"__proto__":null}}}'],
    ['beside a field toJSON', '{"toJSON":1,"__proto__":2}'],
  ])('keeps a field named __proto__ %s', (_, text) => {
    // Plain packing is not tried for some values after one that it cannot pack.
    for (let i = 0; i < 100; i++) {
      const copy = copyOf<unknown>(JSON.parse(text))
      expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
      expect(JSON.stringify(copy)).toBe(text)
    }
  })

  it('keeps a field named __proto__ in a Map and a Set, and a Map in such a field', () => {
    const named = (value: unknown) => Object.fromEntries([['__proto__', value]])
    const copy = copyOf({ map: new Map([[named(1), named(2)]]), set: new Set([named(3)]) })
    expect(JSON.stringify([...copy.map])).toBe('[[{"__proto__":1},{"__proto__":2}]]')
    expect(JSON.stringify([...copy.set])).toBe('[{"__proto__":3}]')
    expect(Object.values(copyOf(named(new Map([[1, 2]]))))).toEqual([new Map([[1, 2]])])
  })

  it('keeps a Map beside a field toJSON', () => {
    const value = { toJSON: 1, map: new Map([[1, 2]]) }
    expect(copyOf(value)).toEqual(value)
  })

  it('packs a value without a field named __proto__ as before after one with it', () => {
    copyOf<unknown>(JSON.parse('{"__proto__":1}'))
    const writer = new ByteWriter(16)
    msgpackSerializer().write([5n], writer)
    expect(Buffer.from(writer.toBytes()).toString('hex')).toBe('91d30000000000000005')
  })

  class Money {
    readonly cents: number
    constructor(cents: number) {
      this.cents = cents
    }
    euros(): number {
      return this.cents / 100
    }
  }
  class Cash extends Money {}
  class Page {
    readonly name = 'home'
  }
  const circle: unknown[] = []
  circle.push(circle)

  it.each<[string, unknown, string]>([
    ['an instance of a class with methods', new Money(1), 'an instance of Money'],
    ['one of a class that inherits them', { total: [new Cash(1)] }, 'an instance of Cash'],
    ['one within a Map', new Map([['a', new Money(1)]]), 'an instance of Money'],
    ['one within a Set', new Set([new Money(1)]), 'an instance of Money'],
    ['a class of the platform', { url: new URL('http://localhost') }, 'an instance of URL'],
    ['a subclass of Map', new (class Names extends Map {})(), 'an instance of Names'],
    ['a promise', { later: Promise.resolve(1) }, 'AsyncDataStream.orderedWait'],
    ['a function', { call: () => 1 }, 'a function'],
    ['a symbol', [Symbol('a')], 'a symbol'],
    ['a value that contains itself', circle, 'contains itself'],
    ['an array of holes', Array(3), 'in [0] a hole'],
    ['a hole in an array', { list: withoutElement([1, 2, 3], 1) }, 'in .list[1] a hole'],
    ['a hole beside a bigint', [5n, withoutElement([undefined, 1], 1)], 'in [1][1] a hole'],
    ['a hole in a Map', new Map([['a', withoutElement([1], 0)]]), 'in .get("a")[0] a hole'],
  ])('refuses %s, which it would change', (_, value, sentence) => {
    // Plain packing is not tried for some values after one that it cannot pack.
    for (let i = 0; i < 3; i++) {
      expect(() => copyOf<unknown>(value)).toThrow(
        expect.objectContaining({
          code: 'UNSUPPORTED',
          message: expect.stringContaining(sentence),
        }),
      )
    }
  })

  it.each<[unknown, string]>([
    [
      { orders: [{}, { buyer: new Money(1) }] },
      'contains in .orders[1].buyer an instance of Money',
    ],
    [{ names: new Map([['a', () => 1]]) }, 'contains in .names.get("a") a function'],
    [[new Set([1, Symbol('a')])], 'contains in [0][1] a symbol'],
    [new Money(1), 'contains an instance of Money'],
    [{ circle }, 'contains itself'],
  ])('names the place of what it refuses: %s', (value, sentence) => {
    expect(() => copyOf<unknown>(value)).toThrow(sentence)
  })

  it.each<[string, object]>([
    ['Unpaid', new (class Unpaid extends Error {})('no money')],
    ['DOMException', new DOMException('aborted', 'AbortError')],
    ['AggregateError', new AggregateError([new Error('a')])],
    ['Day', new (class Day extends Date {})(0)],
    ['Picture', new (class Picture extends Uint8Array {})(3)],
  ])('refuses an instance of %s, which would come back as another class', (name, value) => {
    expect(() => copyOf<unknown>({ it: value })).toThrow(
      `contains in .it an instance of ${name}, which would come back as another class`,
    )
  })

  it('keeps the built-in errors', () => {
    for (const error of [new Error('a'), new TypeError('b'), new RangeError('c')]) {
      const read = copyOf<Error>(error)
      expect(Object.getPrototypeOf(read)).toBe(Object.getPrototypeOf(error))
      expect(read.message).toBe(error.message)
    }
  })

  it('reads a Buffer as a Uint8Array of the same bytes', () => {
    const { name, file } = copyOf<{ name: string; file: Uint8Array }>({
      name: 'a',
      file: Buffer.from('abc'),
    })
    expect(name).toBe('a')
    expect(Buffer.isBuffer(file)).toBe(false)
    expect(Object.getPrototypeOf(file)).toBe(Uint8Array.prototype)
    expect(file).toEqual(Uint8Array.from([97, 98, 99]))
  })

  it('packs an instance of a class that has only fields as its fields', () => {
    expect(copyOf<unknown>([new Page()])).toEqual([{ name: 'home' }])
    expect(copyOf<unknown>(Object.assign(Object.create(null), { a: 1 }))).toEqual({ a: 1 })
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
