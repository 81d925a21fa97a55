import { describe, expect, it } from 'vitest'
import { JSON_LIMITS, parseJsonBody } from '../../src/http/json-body.ts'

const LIMITS = { bytes: 100_000, values: 1000, containers: 100, keys: 50, depth: 10 }

const parse = (text: string) => parseJsonBody(Buffer.from(text), LIMITS)
const list = (value: string, count: number): string => `[${Array(count).fill(value).join(',')}]`
const nested = (depth: number): string => `${'['.repeat(depth)}1${']'.repeat(depth)}`

describe('a body of JSON', () => {
  it('is what JSON.parse makes of it', () => {
    for (const value of [null, 1.5, 'a "b" \\ ü', [[1], { a: [{}] }], { data: [1, 2] }]) {
      expect(parse(JSON.stringify(value))).toEqual(value)
    }
    expect(() => parse('{"a":')).toThrow('the body is no JSON')
    expect(() => parse('')).toThrow('the body is no JSON')
  })

  it.each([
    ['values', () => list('1', 1000), () => list('1', 1001)],
    ['objects', () => list('{}', 99), () => list('{}', 100)],
    ['lists', () => list('[]', 99), () => list('[]', 100)],
    ['fields', () => list('{"a":1}', 50), () => list('{"a":1}', 51)],
    ['bytes', () => `"${'x'.repeat(99_998)}"`, () => `"${'x'.repeat(99_999)}"`],
  ])('is refused beyond its limit of %s, and read up to it', (_, most, tooMany) => {
    expect(parse(most())).toEqual(JSON.parse(most()))
    expect(() => parse(tooMany())).toThrow(expect.objectContaining({ code: 'FRAME_TOO_LARGE' }))
  })

  it('is refused when it is nested deeply, also when it is no JSON', () => {
    expect(parse(nested(10))).toEqual(JSON.parse(nested(10)))
    const deep = expect.objectContaining({ code: 'INVALID_ARGUMENT' })
    expect(() => parse(nested(11))).toThrow(deep)
    expect(() => parse('['.repeat(50_000))).toThrow(/nested deeper|more than 100/)
    expect(() => parseJsonBody(Buffer.from('{"a":'.repeat(100_000)))).toThrow('nested deeper')
  })

  it('may have in its texts what would be structure elsewhere', () => {
    const text = '[{,:"\\'.repeat(2000)
    expect(parse(JSON.stringify([text, 'x\\'.repeat(5)]))).toEqual([text, 'x\\'.repeat(5)])
  })

  it('is refused when it is no UTF-8, instead of becoming another text', () => {
    const latin1 = Buffer.from('"Müller"', 'latin1')
    expect(() => parseJsonBody(latin1)).toThrow('no UTF-8')
  })

  it('of one picture is read by default, and millions of small objects are not', () => {
    const picture = list('0.4980392156862745', 3 * 224 * 224)
    expect(parseJsonBody(Buffer.from(picture))).toHaveLength(3 * 224 * 224)
    const bomb = Buffer.from(`{"inputs":${list('{}', 1_000_000)}}`)
    expect(bomb.length).toBeLessThan(JSON_LIMITS.bytes)
    expect(() => parseJsonBody(bomb)).toThrow('more than 65536 lists and objects')
  })
})
