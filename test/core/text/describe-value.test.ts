import { describe, expect, it } from 'vitest'
import { describeValue, isClass } from '../../../src/core/text/describe-value.ts'

class Order {
  readonly id = 1
}

describe('describeValue', () => {
  it.each<[unknown, string]>([
    [undefined, 'undefined'],
    [null, 'null'],
    ['k', 'the string "k"'],
    ['x'.repeat(50), `the string "${'x'.repeat(40)}..."`],
    [5_000, 'the number 5000'],
    [12n, 'the bigint 12'],
    [Symbol('s'), 'the symbol Symbol(s)'],
    [[1, 2], 'an array of 2'],
    [{}, 'an object without fields'],
    [{ map1: 1, map2: 2 }, 'an object with map1, map2'],
    [{ a: 1, b: 1, c: 1, d: 1, e: 1, f: 1 }, 'an object with a, b, c, d, e, ...'],
    [Object.create(null), 'an object without fields'],
    [new Order(), 'an instance of Order'],
    [Promise.resolve(), 'a promise'],
    [Order, 'the class Order'],
    [class {}, 'a class'],
    [() => 1, 'a function'],
    [(a: number) => a, 'a function with 1 parameter'],
    [(a: number, b: number) => a + b, 'a function with 2 parameters'],
    [async () => {}, 'an async function'],
    [function* () {}, 'a generator function'],
    [async function* () {}, 'an async generator function'],
  ])('says what %s is', (value, words) => {
    expect(describeValue(value)).toBe(words)
  })
})

describe('isClass', () => {
  it('is true only for what needs new', () => {
    expect([Order, () => 1, {}, undefined].map(isClass)).toEqual([true, false, false, false])
  })
})
