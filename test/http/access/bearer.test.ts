import { describe, expect, it } from 'vitest'
import { bearerTokenOf } from '../../../src/http/access/bearer.ts'

describe('bearerTokenOf', () => {
  it.each([
    ['Bearer abc', 'abc'],
    ['bearer   weir_01_A-b', 'weir_01_A-b'],
    ['BEARER abc== ', 'abc=='],
    [undefined, undefined],
    ['', undefined],
    ['Bearer', undefined],
    ['Bearer ', undefined],
    ['Basic abc', undefined],
    ['Bearer a b', undefined],
    ['xBearer abc', undefined],
  ])('of "%s" is %s', (header, token) => {
    expect(bearerTokenOf(header)).toBe(token)
  })
})
