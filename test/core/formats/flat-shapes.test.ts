import { describe, expect, it } from 'vitest'
import { FlatShapes } from '../../../src/core/formats/flat-shapes.ts'
import { NOT_FLAT } from '../../../src/core/formats/value-bytes.ts'

/** What the shapes say of a value once they have seen objects like the first one often enough. */
function afterMany(like: object, value: object): number {
  const shapes = new FlatShapes()
  for (let i = 0; i < 100; i++) shapes.bytesOf(like)
  return shapes.bytesOf(value)
}

const record = { id: 1, name: 'abc', open: true, none: null }

describe('FlatShapes', () => {
  it('count the bytes of records of a shape that came often', () => {
    expect(new FlatShapes().bytesOf(record)).toBe(NOT_FLAT)
    expect(afterMany(record, record)).toBe(56 + 4 * 8 + 24 + 3)
    expect(afterMany(record, { none: 1, name: '', open: 2, id: 'x' })).toBe(NOT_FLAT)
    expect(afterMany(record, { id: 'x', open: 2, name: '', none: 1 })).toBe(56 + 4 * 8 + 2 * 24 + 1)
  })

  it.each<[string, object]>([
    ['one name more', { ...record, more: 1 }],
    ['one name less', { id: 1, name: 'abc', open: true }],
    ['another name', { id: 1, name: 'abc', open: true, other: null }],
    ['an undefined field', { ...record, none: undefined }],
    ['an object in a field', { ...record, none: {} }],
    ['a bigint', { ...record, id: 5n }],
    ['no field', {}],
  ])('know no object with %s', (_, value) => {
    expect(afterMany(record, value)).toBe(NOT_FLAT)
  })

  it('know no shape with a name that means something else', () => {
    const reserved = JSON.parse('{"__proto__": 1, "a": 2}') as object
    expect(afterMany(reserved, reserved)).toBe(NOT_FLAT)
    expect(afterMany({ constructor: 1, a: 1 }, { b: 1, a: 1 })).toBe(NOT_FLAT)
    expect(afterMany({ a: 1, constructor: 1 }, { a: 1, b: 1 })).toBe(NOT_FLAT)
    expect(afterMany({ 'a"b\n': 1 }, { 'a"b\n': 2 })).toBe(56 + 8)
  })

  it('know several shapes with the same first name beside each other', () => {
    const shapes = new FlatShapes()
    const look = (i: number): readonly number[] => [
      shapes.bytesOf(record),
      shapes.bytesOf({ id: 1, other: i }),
      shapes.bytesOf({ id: 1, day: 2, bids: i }),
      shapes.bytesOf({ id: 1, day: 2, best: i }),
    ]
    for (let i = 0; i < 200; i++) look(i)
    expect(look(0)).toEqual([56 + 4 * 8 + 24 + 3, 56 + 2 * 8, 56 + 3 * 8, 56 + 3 * 8])
  })

  it('know some shapes of a first name only, where names are data', () => {
    const shapes = new FlatShapes()
    for (let i = 0; i < 2000; i++) shapes.bytesOf({ id: 1, [`name ${i % 20}`]: i })
    expect(shapes.bytesOf({ id: 1, 'name 3': 0 })).toBe(56 + 2 * 8)
    expect(shapes.bytesOf({ id: 1, 'name 19': 0 })).toBe(NOT_FLAT)
  })
})
