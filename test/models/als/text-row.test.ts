import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { formatTextRow, parseTextRow } from '../../../src/models/als/text-row.ts'

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

  it('have the text of the ancestor', () => {
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
