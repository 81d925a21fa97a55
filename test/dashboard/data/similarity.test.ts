import { expect, it } from 'vitest'
import { bySimilarity, cosine, idsOf } from '../../../dashboard/src/data/similarity.ts'

it('orders known items by the angle between their rows', () => {
  const known = new Map([
    ['opposite', [-1, 0]],
    ['same', [3, 0]],
    ['none', [0, 0]],
  ])
  expect(bySimilarity([2, 0], known)).toEqual([
    { item: 'same', similarity: 1 },
    { item: 'none', similarity: 0 },
    { item: 'opposite', similarity: -1 },
  ])
  expect(cosine([1, 1], [1, 0])).toBeCloseTo(Math.SQRT1_2)
})

it('finds ids between commas and blanks, each once', () => {
  expect(idsOf(' 50, 172;50  x')).toEqual(['50', '172', 'x'])
  expect(idsOf('')).toEqual([])
})
