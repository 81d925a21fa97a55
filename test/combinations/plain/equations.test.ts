import { expect, it } from 'vitest'
import { inverse, matrix, product, solved } from './equations.ts'

it('equations are solved, also where the first pivot is 0', () => {
  expect(
    solved(
      [
        [0, 2],
        [3, 4],
      ],
      [6, 18],
    ),
  ).toEqual([2, 3])
})

it('a matrix times its inverse is 1', () => {
  const a = matrix(4, (i, j) => 1 / (i + j + 1))
  const found = inverse(a)
  for (let k = 0; k < 4; k++) {
    const column = found.map((row) => row[k]!)
    for (const [i, x] of product(a, column).entries()) expect(x).toBeCloseTo(i === k ? 1 : 0, 9)
  }
})
