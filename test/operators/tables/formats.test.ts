import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { rawKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import { type Serializer, stringSerializer } from '../../../src/core/serializer.ts'
import type { RowChange } from '../../../src/operators/joins/table-join.ts'
import { recordFormat, sameBytes } from '../../../src/operators/tables/formats.ts'
import { StreamHarness } from '../../../src/testing/stream-harness.ts'

/** A value that MessagePack refuses: its class has a method. */
class Money {
  readonly cents: number

  constructor(cents: number) {
    this.cents = cents
  }

  plus({ cents }: Money): Money {
    return new Money(this.cents + cents)
  }

  minus({ cents }: Money): Money {
    return new Money(this.cents - cents)
  }
}

const money: Serializer<Money> = {
  id: 'money/1',
  write: ({ cents }, writer) => writer.int53(cents),
  read: (reader) => new Money(reader.int53()),
}

function copied<T>(serializer: Serializer<T>, value: T): T {
  const writer = new ByteWriter()
  serializer.write(value, writer)
  return serializer.read(new ByteReader(writer.toBytes()))
}

describe('the format of records between operators of a table', () => {
  it('is MessagePack where no field has a serializer', () => {
    expect(recordFormat<RowChange<string, string>>({ key: undefined, value: undefined }).id).toBe(
      'msgpack/1',
    )
  })

  it('gives back each field by its serializer, and null for one that is missing', () => {
    const format = recordFormat<{ a: string; b: Money | null; c: number }>({
      a: stringSerializer,
      b: money,
      c: undefined,
    })
    expect(copied(format, { a: 'ä', b: new Money(5), c: 7 })).toEqual({
      a: 'ä',
      b: new Money(5),
      c: 7,
    })
    expect(copied(format, { a: '', b: null, c: 0 })).toEqual({ a: '', b: null, c: 0 })
  })

  it('compares keys by their bytes', () => {
    const same = sameBytes(rawKeySerializer)
    expect(same(Uint8Array.of(1, 2), Uint8Array.of(1, 2))).toBe(true)
    expect(same(Uint8Array.of(1, 2), Uint8Array.of(1, 3))).toBe(false)
  })
})

describe('tables with serializers of their own', () => {
  it('join, group and sum values that MessagePack refuses, by keys of bytes', async () => {
    interface Order {
      readonly id: number
      readonly customer: number
      readonly cents: number
    }
    const key = (id: number): Uint8Array => Uint8Array.of(id)
    const keySerializer = rawKeySerializer
    const harness = await StreamHarness.open<
      [Order, { readonly id: number }],
      RowChange<Uint8Array, Money>
    >((orders, customers) => {
      const known = customers.toTable<Uint8Array, { readonly id: number }>({
        keyOf: ({ id }) => key(id),
        keySerializer,
      })
      return orders
        .toTable<Uint8Array, Order>({ keyOf: ({ id }) => key(id), keySerializer })
        .joinByForeignKey(
          known,
          ({ customer }) => key(customer),
          ({ customer, cents }) => ({ customer, cents }),
        )
        .groupBy(({ customer, cents }) => [key(customer), new Money(cents)], {
          keySerializer,
          serializer: money,
        })
        .reduce(
          (sum, each) => sum.plus(each),
          (sum, each) => sum.minus(each),
        )
        .suppress({ ms: 1, maxRows: 10 })
        .toStream()
    })
    harness.process({ id: 1 }, 0, 1)
    harness.process({ id: 2 }, 0, 1)
    harness.process({ id: 10, customer: 1, cents: 5 })
    harness.process({ id: 11, customer: 1, cents: 7 })
    harness.process({ id: 10, customer: 2, cents: 3 })
    harness.advanceTime(1)
    const sums = harness.take().map(({ key: [customer], value }) => [customer, value])
    expect(sums.sort()).toEqual([
      [1, new Money(7)],
      [2, new Money(3)],
    ])
    await harness.close()
  })
})
