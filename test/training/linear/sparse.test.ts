import { expect, it } from 'vitest'
import { addOnes, addSparse, dotOfOnes, sparseDot } from '../../../src/training/linear/sparse.ts'

const INDEXES = Uint32Array.of(9, 0, 2, 3, 4, 6, 9)
const WEIGHTS = Float64Array.from({ length: 10 }, (_, j) => 2 ** j)

/** All ranges of the non-zeros, empty ones and odd ones too. */
const RANGES = [0, 1, 2, 3].flatMap((from) => [4, 5, 6, 7].map((to) => [from, to] as const))

it('an inner product counts the non-zeros of its range once, whatever their number', () => {
  const values = Float32Array.of(0.5, 1, 2, 0, -1, 3, 4)
  for (const [from, to] of [...RANGES, [5, 5], [5, 6]] as const) {
    let sum = 0
    for (let k = from; k < to; k++) sum += WEIGHTS[INDEXES[k]!]! * values[k]!
    expect(sparseDot(WEIGHTS, INDEXES, values, from, to)).toBe(sum)
  }
})

it('where all values are 1, product and sum are those of the values', () => {
  const ones = new Float32Array(INDEXES.length).fill(1)
  for (const [from, to] of RANGES) {
    expect(dotOfOnes(WEIGHTS, INDEXES, from, to)).toBe(sparseDot(WEIGHTS, INDEXES, ones, from, to))
    const [expected, actual] = [WEIGHTS.slice(), WEIGHTS.slice()]
    addSparse(expected, 0.25, INDEXES, ones, from, to)
    addOnes(actual, 0.25, INDEXES, from, to)
    expect(actual).toEqual(expected)
  }
})
