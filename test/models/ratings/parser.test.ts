import { describe, expect, it } from 'vitest'
import {
  detectRatingsFormat,
  formatRating,
  RATINGS_CSV_HEADER,
} from '../../../src/models/ratings/format.ts'
import { RatingsParser, type RatingsParserOptions } from '../../../src/models/ratings/parser.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'

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

describe.each(['tab', 'double-colon', 'csv', 'semicolon'] as const)('the %s format', (format) => {
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

  it.each(['1e30', '1e39', '-1e16'])('are those whose rating is as large as %s', (rating) => {
    expect(() => parse(`1\t2\t3\t4\n1\t2\t${rating}\t4\n`)).toThrow(
      expect.objectContaining({ code: 'UNPARSABLE_RECORD', details: { line: 2 } }),
    )
  })

  it('are counted if the option says so', () => {
    const { ratings, lines, badLines } = parse(text, { badLines: 'count' })
    expect(ratings.map(({ user }) => user)).toEqual(['1', '5'])
    expect({ lines, badLines }).toEqual({ lines: 7, badLines: 5 })
  })

  it('include a header anywhere but in the first line', () => {
    expect(parse('a,b,c\n1,2,3\n').ratings).toHaveLength(1)
    expect(() => parse('1,2,x\n1,2,3\n')).toThrow(/line 1 of the ratings/)
    expect(() => parse('1,2,3\na,b,c\n')).toThrow(/line 2 of the ratings/)
    expect(() => parse('a\tb\tc\n1\t2\t3\n')).toThrow(/line 1 of the ratings/)
  })

  it.each(['1,2,3\nMEAN,2,3\n', '1,2,3\n1, MEAN ,3\n', 'rating,user,item\n3,"MEAN",2\n'])(
    'are those with the id of the mean rows: %j',
    (text) => {
      expect(() => parse(text)).toThrow(/line 2 of .*expected another id than "MEAN"/)
      expect(parse(text, { badLines: 'count' })).toMatchObject({ badLines: 1 })
    },
  )

  it.each([
    ['1,"2,3,4\n', 'closing quote is missing'],
    ['1,2,3,yesterday\n', 'ISO 8601'],
    ['1,2,3,4,5\n', 'a header that names the columns'],
    ['1,2,3\n1,"",3\n', 'user, item and rating'],
    ['1,2,3\n 1, ,3\n', 'user, item and rating'],
    ['user,item,rating\n1,2\n', 'user, item and rating'],
    ['rating,user,item\nx,1,2\n', 'a number as rating'],
  ])('%j: say what is expected', (lines, message) => {
    expect(() => parse(lines)).toThrow(message)
  })

  it.each([1, 4, 1000])('that are not UTF-8 fail with their number, in chunks of %i', (size) => {
    const bytes = Buffer.from('1\t2\t3\né\t2\t3\na\xe9\t2\t3\na\xfc\t2\t3\n', 'latin1')
    const valid = Buffer.from('1\t2\t3\né\t2\t3\n')
    const all = Buffer.concat([valid, bytes.subarray(bytes.indexOf('a'))])
    const users: string[] = []
    const push = (badLines: 'fail' | 'count') => {
      const parser = new RatingsParser((user) => users.push(user), { badLines })
      for (let at = 0; at < all.length; at += size) parser.push(all.subarray(at, at + size))
      parser.end()
      return parser
    }
    expect(() => push('fail')).toThrow(
      expect.objectContaining({ code: 'MALFORMED_DATA', details: { line: 3 } }),
    )
    expect(users).toEqual(['1', 'é'])
    expect(push('count').badLineCount).toBe(2)
  })

  it.each(['fail', 'count'] as const)('that do not end are refused (%s)', (badLines) => {
    const parser = new RatingsParser(() => {}, { badLines })
    const piece = Buffer.alloc(1024 * 1024, 'x')
    const push = (): void => {
      parser.push(Buffer.from('1,2,3\n'))
      for (let i = 0; i < 40; i++) parser.push(piece)
    }
    expect(push).toThrow('line 2 of the ratings does not end within 16 MiB')
  })

  it('fail in the first line if it shows no format', () => {
    expect(() => parse('hello\n')).toThrow(/no tab, "::", comma or semicolon/)
  })
})

describe('a header', () => {
  it.each([
    ['user\titem\trating\n1\t2\t3\n', -1],
    ['rating,comment,timestamp,product_id,user_id\n3,"good, cheap",7,2,1\n', 7000],
    ['"User-ID";"Book";"Book-Rating"\n"1";"2";"3"\n', -1],
    ['date::stars::business::movieId::userId\n7::3::x::2::1\n', 7000],
  ])('%j names the columns', (lines, timestamp) => {
    expect(parse(lines).ratings).toEqual([{ user: '1', item: '2', rating: 3, timestamp }])
  })
})

describe('fields', () => {
  it('in quotes may hold separators, quotes and spaces; others are without spaces around them', () => {
    const { ratings } = parse('"a, b","say ""hi""",3\n 1, 2 , 4, 8\n" c",d,5\n')
    expect(ratings).toEqual([
      { user: 'a, b', item: 'say "hi"', rating: 3, timestamp: -1 },
      { user: '1', item: '2', rating: 4, timestamp: 8000 },
      { user: ' c', item: 'd', rating: 5, timestamp: -1 },
    ])
  })

  it('may hold a time of ISO 8601', () => {
    const { ratings } = parse('1,2,3,2015-03-09T23:32:00Z\n1,2,3,4\n1,2,3,2015-03-09\n')
    expect(ratings.map(({ timestamp }) => timestamp)).toEqual([
      Date.UTC(2015, 2, 9, 23, 32),
      4000,
      Date.UTC(2015, 2, 9),
    ])
  })
})
