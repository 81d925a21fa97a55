import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/core/random.ts'
import {
  alsKey,
  biasedRow,
  biasOfRow,
  decodeFactors,
  encodeFactors,
  formatTextRow,
  keyLengthWithoutVersion,
  meanRow,
  parseAlsKey,
  parseTextRow,
  predictRating,
  splitVersionedKey,
  versionOfKeyBytes,
} from '../../src/models/als-row.ts'

describe('row keys', () => {
  it('come apart as they were put together', () => {
    expect(alsKey('42', 'U')).toBe('42-U')
    expect(parseAlsKey(alsKey('a@b.c-U', 'I', 7))).toEqual({ id: 'a@b.c-U', kind: 'I', version: 7 })
    expect(parseAlsKey('42-U')).toEqual({ id: '42', kind: 'U', version: 1 })
  })

  it.each(['', '-U', '42', '42-X', '42U', '42-u', '42-X@3'])('refuse "%s"', (text) => {
    expect(() => parseAlsKey(text)).toThrow(expect.objectContaining({ code: 'UNPARSABLE_RECORD' }))
  })

  it.each([
    ['7-U@12', '7-U', 12],
    ['7-U', '7-U', 1],
    ['a@b-I', 'a@b-I', 1],
    ['a@b-I@3', 'a@b-I', 3],
    ['a@@3', 'a@', 3],
    ['a@0', 'a@0', 1],
    ['a@03', 'a@03', 1],
    ['a@12345678901', 'a@12345678901', 1],
    ['a@', 'a@', 1],
    ['@5', '', 5],
  ])(
    'split "%s" at the last @ if a version follows, as text and as bytes',
    (text, key, version) => {
      expect(splitVersionedKey(text)).toEqual({ key, version })
      const bytes = new TextEncoder().encode(text)
      const length = keyLengthWithoutVersion(bytes)
      expect(new TextDecoder().decode(bytes.subarray(0, length))).toBe(key)
      expect(versionOfKeyBytes(bytes, length)).toBe(version)
    },
  )
})

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

describe('text rows', () => {
  it('are read as they were written, to the bit', () => {
    const random = seededRandom(4)
    const factors = Float32Array.from(
      { length: 20 },
      () => random.normal() * 10 ** random.below(20),
    )
    const text = formatTextRow({ id: 'x 1', kind: 'I', factors })
    expect(parseTextRow(text)).toEqual({ id: 'x 1', kind: 'I', factors })
  })

  it('look as the ancestor wrote them', () => {
    const row = { id: '17', kind: 'U', factors: Float32Array.of(0.5, -2) } as const
    expect(formatTextRow(row)).toBe('17,U,0.5;-2')
    expect(parseTextRow('17,U,0.5;-2.0')).toEqual(row)
  })

  it.each([
    ['', 1],
    [',U,1', 1],
    ['17', 1],
    ['17,X,1', 4],
    ['17,UI,1', 4],
    ['17,U', 4],
    ['17,U,', 6],
    ['17,U,1;;2', 8],
    ['17,U,1;2;x', 10],
    ['17,U,Infinity', 6],
  ])('name line and column of what is wrong in "%s"', (text, column) => {
    expect(() => parseTextRow(text, 9)).toThrow(
      expect.objectContaining({ code: 'UNPARSABLE_RECORD', details: { line: 9, column } }),
    )
  })

  it('refuse an id that would break the line', () => {
    const row = { id: 'a,b', kind: 'U', factors: Float32Array.of(1) } as const
    expect(() => formatTextRow(row)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
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
