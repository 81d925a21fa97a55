import { describe, expect, it, vi } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { ShapeReader } from '../../../src/core/shapes/reader.ts'
import { ShapeWriter } from '../../../src/core/shapes/writer.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { randomPlainValue } from '../plain-values.ts'

const plain = msgpackSerializer<unknown>()

/** A stream of values; `sizes` are the bytes of each. */
function stream() {
  const writer = new ShapeWriter(plain)
  const reader = new ShapeReader(plain)
  const sizes: number[] = []
  const send = (value: unknown): unknown => {
    const bytes = new ByteWriter(8)
    writer.write(value, bytes)
    sizes.push(bytes.length)
    const read = new ByteReader(bytes.toBytes())
    const copy = reader.read(read)
    expect(read.remaining).toBe(0)
    return copy
  }
  return { send, sizes }
}

function packed(value: unknown): unknown {
  const writer = new ByteWriter(8)
  plain.write(value, writer)
  return plain.read(new ByteReader(writer.toBytes()))
}

describe('a stream of values between two slots', () => {
  it('gives back random values as MessagePack would', () => {
    const { send } = stream()
    const random = seededRandom(5)
    for (let i = 0; i < 500; i++) {
      const value = randomPlainValue(random)
      expect(send(value)).toEqual(packed(value))
    }
  })

  it('names the fields of a shape once', () => {
    const { send, sizes } = stream()
    for (let i = 0; i < 3; i++) {
      expect(send({ auction: i, channel: 'web', price: 1.5 })).toEqual({
        ...{ auction: i, channel: 'web', price: 1.5 },
      })
    }
    // The text is kept when it comes for the second time, and then known.
    expect(sizes).toEqual([43, 23, 19])
  })

  it('keeps the order of fields, and shapes that begin alike apart', () => {
    const { send } = stream()
    const values = [{ a: 1, b: 2 }, { b: 2, a: 1 }, { a: 1 }, { a: 1, b: 2, c: 3 }, {}]
    for (const value of [...values, ...values]) {
      expect(Object.entries(send(value) as object)).toEqual(Object.entries(value))
    }
  })

  it.each([
    ['a class', new (class Price {})()],
    ['a typed array', { factors: new Float32Array([1]) }],
    ['a bigint', { id: 5n }],
    ['a Map', { map: new Map([[1, 2]]) }],
    ['undefined in an array', [undefined]],
    ['nothing', undefined],
    ['long text', { text: 'x'.repeat(300) }],
    ['text of other alphabets', { text: 'тест 🙂' }],
    ['extreme numbers', [2 ** 31, -(2 ** 31), 2 ** 53, 0.1, Number.NaN, -Infinity]],
  ])('keeps %s, and goes on after it', (_, value) => {
    const { send } = stream()
    send({ known: 1 })
    expect(send(value)).toEqual(packed(value))
    expect(send({ known: 2 })).toEqual({ known: 2 })
  })

  it.each(['{"__proto__":1}', '{"a":1,"__proto__":{"b":2}}', '{"a":{"__proto__":[1]},"c":2}'])(
    'keeps the names of %s as fields of its own, each time',
    (text) => {
      const { send } = stream()
      for (let i = 0; i < 100; i++) {
        send({ a: 1, b: 2 })
        const copy = send(JSON.parse(text))
        expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
        expect(JSON.stringify(copy)).toBe(text)
      }
    },
  )

  it('refuses a hole in an array with its place, and goes on after it', () => {
    const { send } = stream()
    send({ list: [1] })
    for (let i = 0; i < 3; i++) {
      expect(() => send({ list: Object.assign(new Array(3), { 0: 1, 2: 3 }) })).toThrow(
        expect.objectContaining({
          code: 'UNSUPPORTED',
          message: expect.stringContaining('in .list[1] a hole'),
        }),
      )
      expect(send({ list: [undefined, 2] })).toEqual({ list: [undefined, 2] })
    }
  })

  it('forgets a shape that the receiver has not seen, because its value went by MessagePack', () => {
    const { send } = stream()
    expect(send({ fresh: { inner: 5n } })).toEqual({ fresh: { inner: 5n } })
    expect(send({ other: 1 })).toEqual({ other: 1 })
    expect(send({ fresh: { inner: 6 } })).toEqual({ fresh: { inner: 6 } })
  })

  it('keeps texts that come again, in places that others take over', () => {
    const { send, sizes } = stream()
    const random = seededRandom(6)
    const wrong: object[] = []
    const texts = Array.from({ length: 3000 }, (_, i) => `text ${'x'.repeat(i % 70)} ${i % 1500}`)
    for (let i = 0; i < campaignSize(5_000, 20_000); i++) {
      const value = { a: texts[random.below(texts.length)], b: texts[random.below(5)], c: 'ä' }
      if (JSON.stringify(send(value)) !== JSON.stringify(value)) wrong.push(value)
    }
    expect(wrong).toEqual([])
    expect(send(['text', ''])).toEqual(['text', ''])
    sizes.length = 0
    for (let i = 0; i < 4; i++) send(['unlike any other text'])
    expect(sizes).toEqual([25, 27, 5, 5])
  })

  it('knows texts that differ only in a few letters in the middle', () => {
    const { send, sizes } = stream()
    const shops = ['https://example.org/apple/item.htm', 'https://example.org/baidu/item.htm']
    for (let round = 0; round < 3; round++) {
      for (const shop of shops) expect(send(shop)).toBe(shop)
    }
    expect(sizes.slice(-2)).toEqual([3, 3])
  })

  it('keeps no texts that are alike but never the same', () => {
    const { send, sizes } = stream()
    for (let id = 100_000; id < 100_200; id++) expect(send(`item ${id}`)).toBe(`item ${id}`)
    // Kind, length and letters: a text that is kept has its place, too.
    expect(new Set(sizes)).toEqual(new Set([1 + 1 + 11]))
  })

  it('sends an instance of a class by MessagePack, also one with the fields of a known shape', () => {
    class Point {
      x = 1
      y = 2
    }
    const { send, sizes } = stream()
    for (let i = 0; i < 3; i++) expect(send({ x: 1, y: 2 })).toEqual({ x: 1, y: 2 })
    const known = sizes.at(-1)!
    expect(send(new Point())).toEqual({ x: 1, y: 2 })
    expect(sizes.at(-1)).not.toBe(known)
    expect(send({ x: 1, y: 2 })).toEqual({ x: 1, y: 2 })
    expect(sizes.at(-1)).toBe(known)
  })

  it('keeps no text that the receiver has not seen, because its value went by MessagePack', () => {
    const { send } = stream()
    for (let i = 0; i < 4; i++) {
      expect(send({ text: 'seen', id: 5n })).toEqual({ text: 'seen', id: 5n })
      expect(send({ text: `seen ${i}`, id: 5n })).toEqual({ text: `seen ${i}`, id: 5n })
    }
    for (let i = 0; i < 3; i++) expect(send({ text: 'seen' })).toEqual({ text: 'seen' })
  })

  it('leaves dictionaries and the shapes after the first 120 to MessagePack', () => {
    const { send } = stream()
    for (let i = 0; i < 4200; i++) {
      const value = { [`user ${i}`]: i }
      if (i % 50 === 0 || i < 130) expect(send(value)).toEqual(value)
      else send(value)
    }
    const wide = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`f${i}`, i]))
    expect(send(wide)).toEqual(wide)
  })

  it('works where the process forbids code from text', () => {
    vi.stubGlobal('Function', () => {
      throw new EvalError('Code generation from strings disallowed')
    })
    const { send } = stream()
    for (const a of [1, 0.5, 'x']) {
      expect(send({ a, b: { c: 'x' } })).toEqual({ a, b: { c: 'x' } })
      expect(send({ a, b: { c: 1n } })).toEqual({ a, b: { c: 1n } })
    }
    vi.unstubAllGlobals()
  })
})
