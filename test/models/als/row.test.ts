import { describe, expect, it } from 'vitest'
import {
  biasedRow,
  biasOfRow,
  decodeFactors,
  encodeFactors,
  meanRow,
  predictRating,
} from '../../../src/models/als/row.ts'

describe('row values', () => {
  it('are little-endian float32', () => {
    const bytes = encodeFactors(Float32Array.of(1, -2.5))
    expect(Array.from(bytes)).toEqual([0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0])
    expect(decodeFactors(bytes, 2)).toEqual(Float32Array.of(1, -2.5))
  })

  it('are read at any alignment', () => {
    const shifted = new Uint8Array([9, ...encodeFactors(Float32Array.of(3))]).subarray(1)
    expect(decodeFactors(shifted)).toEqual(Float32Array.of(3))
  })

  it.each([
    ['nothing', new Uint8Array(0), undefined],
    ['five bytes', new Uint8Array(5), undefined],
    ['another dimension', new Uint8Array(8), 3],
    ['NaN', encodeFactors(Float32Array.of(Number.NaN)), 1],
  ])('refuse %s', (_, bytes, dimension) => {
    const unparsable = expect.objectContaining({ code: 'UNPARSABLE_RECORD' })
    expect(() => decodeFactors(bytes, dimension)).toThrow(unparsable)
  })
})

describe('biased rows', () => {
  it('predict mean, both biases and the factors by one inner product', () => {
    const user = biasedRow('U', [0.5, 2], 0.25, 3.5)
    const item = biasedRow('I', [4, -1], -0.75, 3.5)
    expect(predictRating(user, item)).toBeCloseTo(3.5 + 0.25 - 0.75 + 0.5 * 4 - 2, 6)
    expect(biasOfRow('U', user, 3.5)).toBeCloseTo(0.25, 6)
    expect(biasOfRow('I', item, 3.5)).toBeCloseTo(-0.75, 6)
  })
})

it('the mean row is the mean of every column, and zero where there is no row', () => {
  const rows = [Float32Array.of(1, 2), Float32Array.of(3, -2)]
  expect(meanRow(rows, 2)).toEqual(Float32Array.of(2, 0))
  expect(meanRow([], 2)).toEqual(new Float32Array(2))
})
