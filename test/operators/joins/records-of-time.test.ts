import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import {
  copierOf,
  readerOf,
  type Serializer,
  sharingSerializer,
} from '../../../src/core/serializer.ts'
import {
  listOfTime,
  recordsOfTime,
  recordsOfTimeSerializer,
} from '../../../src/operators/joins/records-of-time.ts'

const serializer = recordsOfTimeSerializer<unknown>()

function bytesOf<T>({ write }: Serializer<T>, value: T): Uint8Array {
  const writer = new ByteWriter(64)
  write(value, writer)
  return writer.toBytes()
}

const LISTS: readonly (readonly unknown[])[] = [
  [{ id: 7 }],
  [{ id: 7 }, { id: 8 }],
  [5],
  ['text'],
  [null],
  [[1, 2]],
  [[1, 2], [3]],
  [new Date(5)],
  [Uint8Array.of(1, 2)],
  [new Map([['a', 1]])],
]

describe('the records of one time in the state of a join', () => {
  it.each(LISTS.map((list) => [list]))('are the ones that were put there: %j', (list) => {
    const held = recordsOfTime(list)
    expect(listOfTime(held)).toEqual(list)
    const bytes = bytesOf(serializer, held)
    expect(listOfTime(serializer.read(new ByteReader(bytes)))).toEqual(list)
  })

  it.each(LISTS.map((list) => [list]))('have the bytes of former releases: %j', (list) => {
    const lists = msgpackSerializer<readonly unknown[]>()
    const former = bytesOf(lists, list)
    expect(bytesOf(serializer, recordsOfTime(list))).toEqual(former)
    const read = readerOf(serializer, lists.id)
    if (typeof read === 'string') throw new Error(read)
    expect(listOfTime(read(new ByteReader(former)))).toEqual(list)
  })

  it('of another form are refused', () => {
    expect(readerOf(serializer, 'int53/1')).toBe('the state of a join does not read int53/1')
  })

  it('share no object with what was put there, unless objects are reused', () => {
    const record = { id: 7, tags: ['a'] }
    for (const list of [[record], [record, record]]) {
      const copy = listOfTime(copierOf(serializer)!.copy(recordsOfTime(list)))
      expect(copy).toEqual(list)
      expect(copy[0]).not.toBe(record)
      const shared = copierOf(sharingSerializer(serializer))!.copy(recordsOfTime(list))
      expect(listOfTime(shared)[0]).toBe(record)
    }
  })
})
