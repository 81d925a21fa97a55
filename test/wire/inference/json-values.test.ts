import { describe, expect, it } from 'vitest'
import { parseExactly, stringifyExactly } from '../../../src/wire/inference/json-values.ts'

describe('JSON with whole numbers of 64 bits', () => {
  it('keeps all digits, both ways', () => {
    const text = '{"ids":[9007199254740993,-9223372036854775808,7],"rate":0.1234567890123456789}'
    const value = parseExactly(text)
    expect(value).toEqual({
      ids: [9007199254740993n, -9223372036854775808n, 7],
      rate: 0.12345678901234568,
    })
    expect(stringifyExactly(value)).toBe(
      '{"ids":[9007199254740993,-9223372036854775808,7],"rate":0.12345678901234568}',
    )
  })

  it('leaves other numbers and texts of digits as they are', () => {
    const text = '{"a":1e30,"b":"12345678901234567890","c":1234567890123456}'
    expect(parseExactly(text)).toEqual(JSON.parse(text))
    expect(() => parseExactly('{12345678901234567')).toThrow(SyntaxError)
  })
})
