import { expect, test } from 'vitest'
import { RankedKeys } from '../../../src/serving/port/ranked-keys.ts'

const LIST = [
  { key: 'schlüssel', score: 3.5 },
  { key: '', score: 2 },
  { key: 'b', score: -1 },
]

test('keys and scores come back from the arrays', () => {
  expect(RankedKeys.of(LIST).toList()).toEqual(LIST)
  expect(RankedKeys.of([]).toList()).toEqual([])
})

test('the best of several lists are those with the highest scores', () => {
  const others = RankedKeys.of([
    { key: 'x', score: 9 },
    { key: 'y', score: 2 },
    { key: 'z', score: -5 },
  ])
  const best = RankedKeys.best([RankedKeys.of(LIST), others, RankedKeys.of([])], 5)
  expect(best.toList().map(({ key }) => key)).toEqual(['x', 'schlüssel', '', 'y', 'b'])
  expect(RankedKeys.best([others], 2).toList()).toEqual(others.toList().slice(0, 2))
  expect(RankedKeys.best([], 3).count).toBe(0)
})

test('the memory of keys that are written is used for the next ones, once', () => {
  const first = RankedKeys.reserve(1000, 9000)
  const { buffer } = first.keys
  first.release()
  first.release()
  expect(RankedKeys.reserve(1000, 9000).keys.buffer).toBe(buffer)
  expect(RankedKeys.reserve(1000, 9000).keys.buffer).not.toBe(buffer)
})
