import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../../src/core/byte-writer.ts'
import { structFormat } from '../../../../src/core/formats/struct/format.ts'
import { type EvolvingSerializer, readerOf } from '../../../../src/core/serializer.ts'

interface Order {
  user: string
  amount: number
  note?: string
  tags: string[]
  place: { city: string; zip: number }
  raw: Uint8Array
  more: unknown
  paid: boolean
}

const ORDER = structFormat<Order>({
  user: { type: 'string' },
  amount: { type: 'int32' },
  note: { type: { optional: 'string' } } as never,
  tags: { type: { list: 'string' } },
  place: { type: { struct: { city: { type: 'string' }, zip: { type: 'int53' } } as never } },
  raw: { type: 'bytes' },
  more: { type: 'any' },
  paid: { type: 'boolean' },
})

const order: Order = {
  user: 'é',
  amount: -7,
  tags: ['a', ''],
  place: { city: 'Rom', zip: 2 ** 40 },
  raw: Uint8Array.of(1, 2),
  more: { any: [1, null] },
  paid: true,
}

function bytesOf<T>(format: EvolvingSerializer<T>, value: T): Uint8Array {
  const writer = new ByteWriter(8)
  format.write(value, writer)
  return writer.toBytes()
}

/** What `to` reads of a record that `from` wrote, or why it cannot. */
function evolve<A, B>(from: EvolvingSerializer<A>, value: A, to: EvolvingSerializer<B>): unknown {
  const read = readerOf(to, from.id)
  return typeof read === 'string' ? read : read(new ByteReader(bytesOf(from, value)))
}

describe('structFormat', () => {
  it('reads back what it wrote, with a field that may be missing', () => {
    expect(ORDER.read(new ByteReader(bytesOf(ORDER, order)))).toEqual(order)
    const noted = { ...order, note: 'later' }
    expect(ORDER.read(new ByteReader(bytesOf(ORDER, noted)))).toEqual(noted)
  })

  it('has its schema in its id, and these bytes', () => {
    const small = structFormat<{ n: number; t: string }>({
      n: { type: 'int32' },
      t: { type: 'string' },
    })
    expect(small.id).toBe('struct/1{"n":"int32","t":"string"}')
    expect([...bytesOf(small, { n: 258, t: 'hi' })]).toEqual([2, 1, 0, 0, 2, 104, 105])
  })

  const before = structFormat<{ n: number; old: string; gone: number[] }>({
    n: { type: 'int32' },
    old: { type: 'string' },
    gone: { type: { list: 'float64' } },
  })
  const stored = { n: 5, old: 'x', gone: [1, 2] }

  it('gives a field that is new its default, skips one that is gone, and knows one by its former name', () => {
    const after = structFormat<{ fresh: boolean; name: string; n: number }>({
      fresh: { type: 'boolean', default: true },
      name: { type: 'string', aliases: ['older', 'old'] },
      n: { type: 'int32' },
    })
    expect(evolve(before, stored, after)).toEqual({ fresh: true, name: 'x', n: 5 })
  })

  it.each([
    ['int53', 5],
    ['float64', 5],
    ['any', 5],
    [{ optional: 'float64' }, 5],
  ] as const)('reads an int32 as the wider type %j', (type, n) => {
    const after = structFormat<{ n: number }>({ n: { type: type as never } })
    expect(evolve(before, stored, after)).toEqual({ n })
  })

  it.each([
    ['string', 'field "n" was int32 and is now string'],
    ['boolean', 'field "n" was int32 and is now boolean'],
    [{ list: 'int32' }, 'field "n" was int32 and is now list'],
  ] as const)('does not read an int32 as %j', (type, reason) => {
    const after = structFormat<{ n: number }>({ n: { type: type as never } })
    expect(evolve(before, stored, after)).toContain(reason)
  })

  it('does not read records without a field that has no default', () => {
    const after = structFormat<{ n: number; fresh: string }>({
      n: { type: 'int32' },
      fresh: { type: 'string' },
    })
    expect(evolve(before, stored, after)).toContain('field "fresh" is new and has no default')
  })

  it('does not narrow a type, or make a field that may be missing one that may not', () => {
    const wide = structFormat<{ n: number }>({ n: { type: 'float64' } })
    const narrow = structFormat<{ n: number }>({ n: { type: 'int32' } })
    const optional = structFormat<{ n: number }>({ n: { type: { optional: 'int32' } } })
    expect(evolve(wide, { n: 1.5 }, narrow)).toContain('float64 and is now int32')
    expect(evolve(optional, { n: 1 }, narrow)).toContain('optional and is now int32')
  })

  it('follows records within records and within lists', () => {
    const inner = (fields: object) => ({ list: { struct: fields } }) as never
    const from = structFormat<{ all: { a: number }[] }>({
      all: { type: inner({ a: { type: 'int32' } }) },
    })
    const to = structFormat<{ all: { b: number; c: string }[] }>({
      all: {
        type: inner({
          b: { type: 'float64', aliases: ['a'] },
          c: { type: 'string', default: '-' },
        }),
      },
    })
    expect(evolve(from, { all: [{ a: 1 }, { a: 2 }] }, to)).toEqual({
      all: [
        { b: 1, c: '-' },
        { b: 2, c: '-' },
      ],
    })
    const bad = structFormat<{ all: { a: string }[] }>({
      all: { type: inner({ a: { type: 'string' } }) },
    })
    expect(evolve(from, { all: [] }, bad)).toContain('field "all[].a" was int32')
  })

  it('prefers the field of the same name to one that had it as a former name', () => {
    const to = structFormat<{ old: string; also: string }>({
      also: { type: 'string', aliases: ['old'], default: '' },
      old: { type: 'string' },
    })
    expect(evolve(before, stored, to)).toEqual({ also: '', old: 'x' })
  })

  it('names the field whose value has another type, and a type that does not exist', () => {
    const bad = { ...order, place: { city: 5 as unknown as string, zip: 1 } }
    expect(() => bytesOf(ORDER, bad)).toThrow('field "place.city" of structFormat is')
    expect(() => bytesOf(ORDER, { ...order, amount: 2 ** 31 })).toThrow('not an int32')
    expect(() => structFormat({ n: { type: 'int' as never } })).toThrow(
      'field "n" of structFormat has the type "int"',
    )
    expect(() => structFormat({})).toThrow('structFormat got no fields')
  })

  it('reads no other serializer, and says so', () => {
    expect(readerOf(ORDER, 'msgpack/1')).toBe('structFormat does not read msgpack/1')
  })
})
