import { describe, expect, it } from 'vitest'
import type { Rating } from '../../src/models/rating.ts'
import {
  detectRatingsFormat,
  formatRating,
  RATINGS_CSV_HEADER,
  RatingsParser,
  type RatingsParserOptions,
} from '../../src/models/ratings-format.ts'

function parse(text: string, options: RatingsParserOptions = {}, chunkBytes = 1 << 20) {
  const ratings: Rating[] = []
  const parser = new RatingsParser(
    (user, item, rating, timestamp) => ratings.push({ user, item, rating, timestamp }),
    options,
  )
  const bytes = new TextEncoder().encode(text)
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    parser.push(bytes.subarray(at, at + chunkBytes))
  }
  parser.end()
  return { ratings, lines: parser.lineCount, badLines: parser.badLineCount }
}

const RATINGS: Rating[] = [
  { user: '1', item: 'ü 10', rating: 5, timestamp: 874_965_758_000 },
  { user: 'anna', item: '1193', rating: 3.5, timestamp: 978_300_760_000 },
]

describe.each(['tab', 'double-colon', 'csv'] as const)('the %s format', (format) => {
  const header = format === 'csv' ? [RATINGS_CSV_HEADER] : []
  const text = [...header, ...RATINGS.map((rating) => formatRating(rating, format))].join('\n')

  it('is detected, and read as it was written', () => {
    expect(parse(text).ratings).toEqual(RATINGS)
    expect(detectRatingsFormat(text.split('\n')[0] as string)).toBe(format)
  })

  it.each([1, 2, 3, 7])('is read in chunks of %i bytes', (chunkBytes) => {
    expect(parse(`${text}\n`, {}, chunkBytes).ratings).toEqual(RATINGS)
  })

  it('may end its lines with CRLF and hold empty ones', () => {
    expect(parse(`${text.replaceAll('\n', '\r\n\r\n')}\r\n`).ratings).toEqual(RATINGS)
  })

  it('may leave the time out', () => {
    const untimed = RATINGS.map((rating) => ({ ...rating, timestamp: -1 }))
    const lines = untimed.map((rating) => formatRating(rating, format))
    expect(parse(lines.join('\n')).ratings).toEqual(untimed)
  })
})

describe('bad lines', () => {
  const text = '1\t2\t3\t4\n1\t2\n1\t2\tx\t4\n\t2\t3\t4\n1\t\t3\t4\n1\t2\t3\tx\n5\t6\t1\t8\n'

  it('fail with their number', () => {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({ code: 'UNPARSABLE_RECORD', details: { line: 2 } }),
    )
  })

  it('are counted if that is asked for', () => {
    const { ratings, lines, badLines } = parse(text, { badLines: 'count' })
    expect(ratings.map(({ user }) => user)).toEqual(['1', '5'])
    expect({ lines, badLines }).toEqual({ lines: 7, badLines: 5 })
  })

  it('include a header anywhere but in the first line of a csv', () => {
    expect(parse('a,b,c\n1,2,3\n').badLines).toBe(0)
    expect(() => parse('user\titem\trating\n1\t2\t3\n')).toThrow(/line 1 of the ratings/)
    expect(() => parse('1,2,3\na,b,c\n')).toThrow(/line 2 of the ratings/)
  })

  it('fail in the first line if it shows no format', () => {
    expect(() => parse('hello\n')).toThrow(/no tab, "::" or comma/)
  })
})
