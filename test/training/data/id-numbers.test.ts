import { expect, it } from 'vitest'
import { IdNumbers } from '../../../src/training/data/id-numbers.ts'

it('numbers ids in the order of their first appearance', () => {
  const numbers = new IdNumbers()
  expect(['b', 'a', 'b', 'c'].map((id) => numbers.of(id))).toEqual([0, 1, 0, 2])
  expect(numbers.ids).toEqual(['b', 'a', 'c'])
})

it('refuses more ids than a map holds, and still knows the others', () => {
  const numbers = new IdNumbers(2)
  numbers.of('a')
  numbers.of('b')
  expect(() => numbers.of('c')).toThrow(/at most 2 users/)
  expect(numbers.of('b')).toBe(1)
})
