import { Packr } from 'msgpackr'
import { describe, expect, it, vi } from 'vitest'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { PlainPacker } from '../../../src/core/formats/plain-packer.ts'

const packr = new Packr({ useRecords: false, moreTypes: true })

/** The packed bytes in hexadecimal; undefined if the packer leaves the value to msgpackr. */
function packed(value: unknown, packer = new PlainPacker()): string | undefined {
  const writer = new ByteWriter(1)
  writer.uint8(7)
  const isPacked = packer.write(value, writer)
  const bytes = Buffer.from(writer.toBytes()).toString('hex')
  if (!isPacked) expect(bytes).toBe('07')
  return isPacked ? bytes.slice(2) : undefined
}

const edges = [0, 0x1f, 0x20, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 2 ** 31]
const numbers = [...edges, 2 ** 32 - 1, 2 ** 32, 2 ** 53].flatMap((n) => [n, -n, n + 1, -n - 1])
const texts = [0, 1, 31, 32, 33, 127, 128, 255].map((length) => 'x'.repeat(length))

describe('PlainPacker', () => {
  it.each<[string, unknown]>([
    ['whole numbers', numbers],
    ['other numbers', [0.5, -1.25, Number.NaN, Number.POSITIVE_INFINITY, 5e-324, -0]],
    ['texts', texts],
    ['nothing, false and true', [null, undefined, false, true]],
    ['an object with the same names inside', { a: { a: 1, b: 2 }, b: { b: 1, a: [{ a: 1 }] } }],
    ['names of each length', Object.fromEntries(texts.map((name) => [name, 1]))],
    [
      'an array of 16 and one of 70 elements',
      [new Array(16).fill(1), new Array(70).fill({ a: 1 })],
    ],
    ['an object of no field and an array of no element', [{}, []]],
    ['names that are numbers', { 2: 'b', 1: 'a' }],
    ['a number alone', 300],
  ])('packs %s as msgpackr does', (_, value) => {
    const expected = Buffer.from(packr.pack(value)).toString('hex')
    const packer = new PlainPacker()
    expect(packed(value, packer)).toBe(expected)
    expect(packed(value, packer)).toBe(expected)
  })

  it('packs objects whose names come in another order or number each time', () => {
    const packer = new PlainPacker()
    for (const value of [
      { a: 1, b: 2 },
      { b: 1, a: 2 },
      { a: 1, c: 2, b: 3 },
      { c: { a: 1 } },
      {},
    ]) {
      expect(packed(value, packer)).toBe(Buffer.from(packr.pack(value)).toString('hex'))
    }
  })

  it.each<[string, unknown]>([
    ['a Map', { a: new Map() }],
    ['a date', [new Date(0)]],
    ['an instance', new (class Point {})()],
    ['an object without prototype', Object.create(null)],
    ['a bigint', { a: [1n] }],
    ['a function', { a: () => 1 }],
    ['other letters', { a: 'ä' }],
    ['other letters in a name', { ä: 1 }],
    ['a long text', 'x'.repeat(256)],
    ['an object with its own form', { toJSON: 1 }],
    ['an object that hides its class', { constructor: Map }],
    ['a long array', new Array(65_536).fill(0)],
    ['an array with a hole', { a: Object.assign(new Array(3), { 0: 1, 2: 3 }) }],
    ['a field with the name of the prototype', JSON.parse('{"a":{"__proto__":1}}')],
  ])('leaves %s to msgpackr', (_, value) => {
    expect(packed(value)).toBeUndefined()
  })

  it('leaves a circle to msgpackr', () => {
    const circle: Record<string, unknown> = {}
    circle['self'] = circle
    expect(packed(circle)).toBeUndefined()
  })

  it('packs the objects of shapes that come often as msgpackr does', () => {
    const packer = new PlainPacker()
    const values = (n: number): unknown[] => [
      { id: n, name: `item ${n}`, price: n / 3, isSold: n % 2 === 0, buyer: null },
      { id: -n, name: 'x'.repeat(n), tags: ['a', n], place: { x: n, y: { z: undefined } } },
      { name: n, id: String(n) },
      { 2: n, 1: 'one' },
    ]
    for (let n = 0; n < 100; n++) {
      for (const value of values(n)) {
        expect(packed(value, packer)).toBe(Buffer.from(packr.pack(value)).toString('hex'))
      }
    }
  })

  it('leaves one object of a shape that came often to msgpackr', () => {
    const packer = new PlainPacker()
    for (let n = 0; n < 100; n++) packed({ id: n, name: 'a' }, packer)
    expect(packed({ id: 1, name: 'ä' }, packer)).toBeUndefined()
    expect(packed({ id: 1, name: 'a' }, packer)).toBeUndefined()
    expect(packed({ id: 1, name: 'a' }, packer)).toBe(
      Buffer.from(packr.pack({ id: 1, name: 'a' })).toString('hex'),
    )
  })

  it('leaves objects with a name of their own form to msgpackr however often they come', () => {
    const packer = new PlainPacker()
    for (let n = 0; n < 100; n++) expect(packed({ id: n, toJSON: 1 }, packer)).toBeUndefined()
  })

  it('works where the process forbids code from text', () => {
    vi.stubGlobal('Function', () => {
      throw new EvalError('forbidden')
    })
    const packer = new PlainPacker()
    for (let n = 0; n < 100; n++) {
      expect(packed({ id: n }, packer)).toBe(Buffer.from(packr.pack({ id: n })).toString('hex'))
    }
    vi.unstubAllGlobals()
  })

  it('tries again, after more and more values that it cannot pack', () => {
    const packer = new PlainPacker()
    expect(packed({ a: 1n }, packer)).toBeUndefined()
    expect(packed({ a: 1 }, packer)).toBeUndefined()
    expect(packed({ a: 1 }, packer)).toBeDefined()
    for (let i = 0; i < 5000; i++) packed({ a: 1n }, packer)
    const tries = Array.from({ length: 1025 }, () => packed({ a: 1 }, packer) !== undefined)
    expect(tries[0]).toBe(false)
    expect(tries.at(-1)).toBe(true)
  })

  it('keeps no more than some thousand names', () => {
    const packer = new PlainPacker()
    const tries = Array.from({ length: 4097 }, (_, i) => packed({ [`name ${i}`]: 1 }, packer))
    expect(tries.at(-2)).toBeDefined()
    expect(tries.at(-1)).toBeUndefined()
  })
})
