import { expect, it } from 'vitest'
import { ChunkedList } from '../../../src/state/entries/chunked-list.ts'

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

function listOf(elements: readonly number[]): ChunkedList<number> {
  const list = new ChunkedList<number>()
  for (const element of elements) list.push(element)
  return list
}

it('holds its elements in order, in one chunk and in several', () => {
  for (const count of [0, 1, 16, 17, 2048, 2049, 10_000]) {
    const list = listOf(numbers(count))
    expect(list.length).toBe(count)
    expect([...list]).toEqual(numbers(count))
  }
})

it('replaces an element', () => {
  const list = listOf(numbers(5000))
  list.set(4999, -1)
  list.set(3, -2)
  expect([list.at(2), list.at(3), list.at(4999)]).toEqual([2, -2, -1])
})

it('shrinks from its end and grows again', () => {
  const list = listOf(numbers(7000))
  const removed = Array.from({ length: 6990 }, () => list.pop())
  expect(removed).toEqual(numbers(7000).slice(10).reverse())
  for (const element of numbers(5000)) list.push(element)
  expect([...list]).toEqual([...numbers(10), ...numbers(5000)])
})

it('is empty after it was cleared, and may be filled again', () => {
  const list = listOf(numbers(5000))
  list.clear()
  expect([...list]).toEqual([])
  for (const element of numbers(3000)) list.push(-element)
  expect([...list]).toEqual(numbers(3000).map((element) => -element))
})
