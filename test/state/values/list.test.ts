import { describe, expect, it } from 'vitest'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import {
  copierOf,
  int53Serializer,
  sharingSerializer,
  stringSerializer,
  withCopier,
} from '../../../src/core/serializer.ts'
import { ElementArena } from '../../../src/state/values/element-arena.ts'
import { ListValue, MOST_LIVE } from '../../../src/state/values/list.ts'

const serializer = msgpackSerializer<unknown>()
const MANY = 3 * MOST_LIVE + 7

function listOf(values: readonly unknown[]): ListValue {
  const list = new ListValue()
  for (const value of values) list.add(serializer, value)
  return list
}

function bytesOf(list: ListValue): Uint8Array {
  const writer = new ByteWriter()
  list.write(serializer, writer)
  return writer.toBytes()
}

/** What a checkpoint holds of the elements: each with its length before it. */
function packed(values: readonly unknown[]): Uint8Array {
  const writer = new ByteWriter()
  const element = new ByteWriter()
  for (const value of values) {
    element.reset()
    serializer.write(value, element)
    writer.sized(element.toBytes())
  }
  return writer.toBytes()
}

const kinds = [1, 'a', true, null, { a: 1 }, new Uint8Array([3]), [1, { b: 2 }], 4n, { c: 3 }]

describe('a list in memory', () => {
  it.each([
    ['of each kind of values', kinds],
    ['of more values than stay decoded', Array.from({ length: MANY }, (_, i) => ({ i }))],
    ['of many values of which no copy is made', Array.from({ length: MANY }, (_, i) => [i, 1n])],
    ['of nothing', []],
  ])('%s is written as its packed elements, and gives them back', (_, values) => {
    const list = listOf(values)
    expect(list.values(serializer)).toEqual(values)
    expect(bytesOf(list)).toEqual(packed(values))
    expect(bytesOf(list)).toEqual(packed(values))
    expect(list.values(serializer)).toEqual(values)
    const read = ListValue.of(packed(values))
    expect(read.values(serializer)).toEqual(values)
    read.add(serializer, { last: 1 })
    expect(read.values(serializer)).toEqual([...values, { last: 1 }])
    expect(bytesOf(read)).toEqual(packed([...values, { last: 1 }]))
  })

  it.each([
    [
      'with a new one in the middle',
      (a: unknown[]) => [...a.slice(0, 4), { n: 77 }, ...a.slice(4)],
    ],
    ['without the last one', (a: unknown[]) => a.slice(0, -1)],
    ['without some', (a: unknown[]) => a.filter((_, i) => i % 3 !== 1)],
    ['in another order', (a: unknown[]) => a.toReversed()],
    ['all new', (a: unknown[]) => a.map((_, n) => ({ n: n + 100 }))],
    ['many more', (a: unknown[]) => Array.from({ length: MANY }, (_, n) => a[n] ?? { n })],
    ['and one of which no copy is made', (a: unknown[]) => [...a.slice(0, 2), 4n, ...a.slice(2)]],
  ])('that replaces one of the same objects, %s, equals a new one', (_, change) => {
    const sharing = sharingSerializer(serializer)
    const first = Array.from({ length: 10 }, (_, n) => ({ n }))
    const before = new ListValue(true)
    before.addAll(sharing, first, undefined)
    const values = change(first)
    const after = new ListValue(true)
    after.addAll(sharing, values, before)
    expect(after.values(sharing)).toEqual(values)
    expect(bytesOf(after)).toEqual(packed(values))
    const alone = new ListValue(true)
    for (const value of values) alone.add(sharing, value)
    expect(Math.abs(after.bytes - alone.bytes)).toBeLessThanOrEqual(values.length)
  })

  it('of elements whose lengths take one byte, two and three in turn is written as its packed elements', () => {
    const lengths = [3, 200, 3, 20_000, 200, 20_000, 3, 3, 126, 127, 128, 129, 1]
    const values = lengths.map((length) => 'x'.repeat(length))
    expect(bytesOf(listOf(values))).toEqual(packed(values))
    // Elements of which no copy is made are packed when they are added.
    const bytes = lengths.map((length) => new Uint8Array(length).fill(7))
    expect(bytesOf(listOf(bytes))).toEqual(packed(bytes))
  })

  it('loses nothing when an element cannot be written', () => {
    const fails = {
      id: 'fails/1',
      write: (value: unknown, writer: ByteWriter): void => {
        writer.raw(new Uint8Array(value as number))
        if (value === 300) throw new Error('refused')
      },
      read: serializer.read,
    }
    const list = new ListValue()
    list.add(fails, 3)
    expect(() => list.add(fails, 300)).toThrow('refused')
    list.add(fails, 2)
    expect([...bytesOf(list)]).toEqual([3, 0, 0, 0, 2, 0, 0])
  })

  it('that replaces one of the same objects looks only at those that are new', () => {
    const looked: unknown[] = []
    const sharing = sharingSerializer(serializer)
    const copier = copierOf(sharing)!
    const counting = withCopier(
      { ...sharing },
      Object.create(copier, {
        copy: {
          value: (value: unknown) => {
            looked.push(value)
            return copier.copy(value)
          },
        },
      }) as typeof copier,
    )
    const first = Array.from({ length: 10 }, (_, n) => ({ n }))
    const before = new ListValue(true)
    before.addAll(counting, first, undefined)
    looked.length = 0
    const last = { n: 77 }
    new ListValue(true).addAll(counting, [...first.slice(0, 3), last, ...first.slice(3, 9)], before)
    expect(looked).toEqual([last])
  })

  it.each([20, 300, MOST_LIVE])(
    'of %i elements can keep them decoded after it was written',
    (n) => {
      const sharing = sharingSerializer(serializer)
      const values = Array.from({ length: n }, (_, i) => ({ i }))
      const list = new ListValue(true)
      const write = (): Uint8Array => {
        const writer = new ByteWriter()
        list.write(sharing, writer)
        return writer.toBytes()
      }
      for (const [i, value] of values.entries()) {
        list.add(sharing, value)
        if (i % 100 === 99) expect(write()).toEqual(packed(values.slice(0, i + 1)))
      }
      expect(write()).toEqual(packed(values))
      const read = list.values(sharing)
      expect(read).toHaveLength(n)
      expect(read.every((value, i) => value === values[i])).toBe(true)
      for (let i = 0; i < MOST_LIVE; i++) list.add(sharing, { more: i })
      const all = [...values, ...Array.from({ length: MOST_LIVE }, (_, i) => ({ more: i }))]
      expect(list.values(sharing)).toEqual(all)
      expect(write()).toEqual(packed(all))
      expect(list.seal(sharing)).toEqual(packed(all))
    },
  )

  it.each([
    ['of each kind of values', kinds],
    ['of more objects than stay decoded', Array.from({ length: MANY }, (_, i) => ({ i }))],
  ])('%s within an arena is written as others are, and leaves it when it is read', (_, values) => {
    const arena = new ElementArena()
    const list = new ListValue(true)
    for (const value of values) {
      if (!list.addEarly(serializer, value, arena)) list.add(serializer, value)
    }
    expect(bytesOf(list)).toEqual(packed(values))
    expect(list.values(serializer)).toEqual(values)
    expect(list.addEarly(serializer, { last: 1 }, arena)).toBe(false)
    list.add(serializer, { last: 1 })
    expect(bytesOf(list)).toEqual(packed([...values, { last: 1 }]))
    expect(list.values(serializer)).toEqual([...values, { last: 1 }])
    expect(list.seal(serializer)).toEqual(packed([...values, { last: 1 }]))
  })

  it.each([
    ['read', (list: ListValue) => list.values(serializer)],
    ['a chunk', (list: ListValue) => list.seal(serializer)],
    ['dropped', (list: ListValue) => list.drop()],
    ['given up', (list: ListValue) => list.elements(serializer)],
    ['given an element that is no object', (list: ListValue) => list.add(serializer, 1)],
  ])('within an arena gives up its room there when it is %s', (_, leave) => {
    const arena = new ElementArena()
    for (let n = 0; n < 30; n++) {
      const list = new ListValue(true)
      for (let i = 0; i < 500; i++) list.addEarly(serializer, { text: 'x'.repeat(100) }, arena)
      leave(list)
    }
    // The elements of one list take about as much as one slab.
    expect(arena.bytes).toBeLessThanOrEqual(3 * 65_536)
  })

  it('that keeps elements in both forms is counted with both', () => {
    const list = new ListValue(true)
    for (let i = 0; i < 200; i++) list.add(serializer, { i })
    const before = list.bytes
    bytesOf(list)
    expect(list.bytes).toBeGreaterThan(before + 200 * 3)
    expect(list.bytesOnce).toBe(before)
    expect(list.values(serializer)).toHaveLength(200)
  })

  it('keeps what it appends after a chunk apart from it', () => {
    const list = listOf([1, 'a'])
    expect(list.seal(serializer)).toEqual(packed([1, 'a']))
    list.add(serializer, 2)
    expect(list.values(serializer)).toEqual([2])
    // The format is stored: 80 00, the number of chunks, then elements with their lengths before them.
    expect(bytesOf(list)).toEqual(Uint8Array.of(0x80, 0x00, 1, 1, 2))
    const read = ListValue.of(bytesOf(list))
    expect([read.chunks, read.values(serializer)]).toEqual([1, [2]])
    expect(read.seal(serializer)).toEqual(Uint8Array.of(1, 2))
    expect(bytesOf(read)).toEqual(Uint8Array.of(0x80, 0x00, 2))
  })

  it('refuses a head that is cut off', () => {
    for (const head of [Uint8Array.of(0x80, 0x00), Uint8Array.of(0x80, 0x00, 0x81)]) {
      expect(() => ListValue.of(head)).toThrow(
        expect.objectContaining({ code: 'MALFORMED_DATA' }) as Error,
      )
    }
  })

  it('shares no object with those who add and read, whether decoded or packed', () => {
    const added = { a: [1] }
    const list = listOf([added])
    added.a.push(2)
    const [read] = list.values(serializer) as [typeof added]
    read.a.push(3)
    expect(list.values(serializer)).toEqual([{ a: [1] }])
    const restored = ListValue.of(packed([{ a: [1] }]))
    const [first] = restored.values(serializer) as [typeof added]
    first.a.push(4)
    expect(restored.values(serializer)).toEqual([{ a: [1] }])
  })

  it.each([
    ['flat ones', (i: number) => ({ i, text: 'x' })],
    ['nested ones', (i: number) => ({ i, list: [i] })],
    ['an array among flat ones', (i: number) => (i === 70 ? [i] : { i })],
  ])('gives copies of all and of the last of %s after each addition', (_, make) => {
    const list = new ListValue(true)
    const all: unknown[] = []
    for (let i = 0; i < 100; i++) {
      list.add(serializer, make(i))
      all.push(make(i))
      for (const values of [list.values(serializer), list.lastValues(serializer, 3)!]) {
        expect(values).toEqual(all.slice(-values.length))
        // What a reader changes, the list does not have.
        for (const value of values as { i: number; list?: number[] }[]) {
          value.i = -1
          value.list?.push(-1)
        }
      }
    }
    bytesOf(list)
    expect(list.lastValues(serializer, 3)).toBeUndefined()
    expect(list.values(serializer)).toEqual(all)
  })

  it('of a serializer without copies holds what the serializer gives back', () => {
    const texts = new ListValue()
    for (const text of ['', 'ä', 'text']) texts.add(stringSerializer, text)
    expect(texts.values(stringSerializer)).toEqual(['', 'ä', 'text'])
    const numbers = new ListValue()
    numbers.add(int53Serializer, 2 ** 40)
    expect(() => numbers.add(int53Serializer, 0.5)).toThrow('not a whole number')
    expect(numbers.values(int53Serializer)).toEqual([2 ** 40])
  })

  it('takes more memory with each element, and less when it is packed than its limit of decoded ones', () => {
    const list = listOf([])
    const sizes = Array.from({ length: MOST_LIVE }, (_, i) => {
      list.add(serializer, { i })
      return list.bytes
    })
    expect(sizes).toEqual(sizes.toSorted((a, b) => a - b))
    expect(sizes.at(-1)).toBeGreaterThan(MOST_LIVE * 60)
    list.add(serializer, { i: 1 })
    expect(list.bytes).toBeLessThan(sizes.at(-1)! / 2)
  })
})
