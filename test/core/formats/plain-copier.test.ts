import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { PlainCopier, PlainSharer } from '../../../src/core/formats/plain-copier.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { copierOf, sharingSerializer, stringSerializer } from '../../../src/core/serializer.ts'
import { randomPlainValue } from '../plain-values.ts'

const copier = new PlainCopier()

class Money {
  euros = 1
}

function packed(value: unknown): unknown {
  const writer = new ByteWriter(64)
  const serializer = msgpackSerializer<unknown>()
  serializer.write(value, writer)
  return serializer.read(new ByteReader(writer.toBytes()))
}

describe('PlainCopier', () => {
  it('copies random data as MessagePack would give it back', () => {
    const random = seededRandom(3)
    for (let i = 0; i < 500; i++) {
      const value = { field: randomPlainValue(random) }
      expect(copier.copy(value)).toEqual(packed(value))
    }
  })

  it('shares no object with what it copies', () => {
    const value = { list: [{ a: 1 }], map: new Map([['k', { b: 2 }]]), time: new Date(5) }
    const copy = copier.copy(value) as typeof value
    value.list[0]!.a = 9
    value.map.get('k')!.b = 9
    value.time.setTime(9)
    expect(copy).toEqual({ list: [{ a: 1 }], map: new Map([['k', { b: 2 }]]), time: new Date(5) })
  })

  it('keeps a field that is undefined', () => {
    expect(copier.copy({ a: undefined, b: 1 })).toStrictEqual({ a: undefined, b: 1 })
  })

  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  it.each([
    ['an instance of a class', new Money()],
    ['a class in a field', { price: new Money() }],
    ['a typed array', { factors: new Float32Array(2) }],
    ['a bigint', { id: 5n }],
    ['a function', { run: () => 1 }],
    ['an array with a hole', { list: Array(2) }],
    ['an array with undefined', [undefined]],
    ['a field named __proto__', JSON.parse('{"__proto__": 1}')],
    ['a Date that is none', { time: new Date(Number.NaN) }],
    ['an object in itself', circle],
    ['text alone', 'text'],
  ])('leaves %s to the serializer', (_, value) => {
    expect(copier.copy(value)).toBeUndefined()
  })

  it('measures a copy and the same value alike', () => {
    const value = { name: 'abc', list: [1, 2, 3], map: new Map([['k', 1]]) }
    copier.copy(value)
    const { bytes } = copier
    expect(bytes).toBeGreaterThan(100)
    expect(copier.measure(value)).toBe(bytes)
  })
})

it('a serializer that is made from another one by spreading copies by its own bytes', () => {
  const serializer = msgpackSerializer<unknown>()
  expect(copierOf(serializer)).toBeDefined()
  expect(copierOf({ ...serializer, id: 'mine/1' })).toBeUndefined()
})

describe('PlainSharer', () => {
  it('gives back plain data itself, and counts the bytes of a copy', () => {
    const random = seededRandom(5)
    const [copier, sharer] = [new PlainCopier(), new PlainSharer()]
    for (let i = 0; i < 500; i++) {
      const value = { field: randomPlainValue(random), none: undefined }
      expect(sharer.copy(value)).toBe(value)
      copier.copy(value)
      expect(sharer.bytes).toBe(copier.bytes)
    }
  })

  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  it.each([
    ['an instance of a class', new Money()],
    ['a class in a field', { price: new Money() }],
    ['a typed array in a Map', new Map([['k', new Float32Array(2)]])],
    ['a bigint in a Set', new Set([5n])],
    ['a function', { run: () => 1 }],
    ['an array with a hole', { list: Array(2) }],
    ['a field named __proto__', JSON.parse('{"__proto__": 1}')],
    ['a Date that is none', { time: new Date(Number.NaN) }],
    ['an object in itself', circle],
    ['text alone', 'text'],
  ])('refuses %s, as the copier does', (_, value) => {
    expect(new PlainSharer().copy(value)).toBeUndefined()
    expect(new PlainCopier().copy(value)).toBeUndefined()
  })
})

describe('sharingSerializer', () => {
  it('reads and writes as before, and shares what it is given', () => {
    const serializer = msgpackSerializer<object>()
    const sharing = sharingSerializer(serializer)
    const value = { a: 1 }
    expect(copierOf(sharing)!.copy(value)).toBe(value)
    expect(copierOf(serializer)!.copy(value)).not.toBe(value)
    expect(sharing).toMatchObject({ id: 'msgpack/1', write: serializer.write })
  })

  it('is the same one where no objects can be shared', () => {
    expect(sharingSerializer(stringSerializer)).toBe(stringSerializer)
  })
})
