import { describe, expect, it } from 'vitest'
import {
  formatTextWeight,
  INTERCEPT,
  parseTextWeight,
  textWeights,
} from '../../../src/models/linear/weights.ts'

describe('weights as text', () => {
  it('are read back as they were written', () => {
    for (const weight of [0.1, -1 / 3, 5e-324, 1e21, 7]) {
      const written = { feature: 3_231_961, weight }
      expect(parseTextWeight(formatTextWeight(written))).toEqual(written)
    }
    expect(parseTextWeight(' 17 , -2.5\r')).toEqual({ feature: 17, weight: -2.5 })
  })

  it('of a model start with the intercept and leave out what is 0', () => {
    expect([...textWeights([0, 0.5, 0, -2], 0.25)]).toEqual(['bias,0.25', '1,0.5', '3,-2'])
    expect([...textWeights([1], 0)]).toEqual(['0,1'])
    expect(parseTextWeight('bias,0.25')).toEqual({ feature: INTERCEPT, weight: 0.25 })
  })

  it.each(['', '5', ',1', '5,', '5,x', '-1,2', '1.5,2', 'offset,2'])(
    'such as "%s" fail with their line',
    (text) => {
      expect(() => parseTextWeight(text, 9)).toThrow(
        expect.objectContaining({ code: 'UNPARSABLE_RECORD', details: { line: 9 } }),
      )
    },
  )

  it('that are not finite are not written', () => {
    expect(() => formatTextWeight({ feature: 1, weight: Number.NaN })).toThrow(/weight NaN/)
  })
})
