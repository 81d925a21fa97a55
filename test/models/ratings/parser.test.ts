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
  { user: '1', item: 'ü10', rating: 5, timestamp: 874_965_758_000 },
  { user: 'anna', item: '1193', rating: 3.5, timestamp: 978_300_760_000 },
]

describe.each(['tab', 'double-colon', 'csv', 'semicolon', 'pipe', 'space'] as const)(
  'the %s format',
  (format) => {
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
  },
)

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
    expect(parse('user,item,rating\n1,2,3\n').ratings).toHaveLength(1)
    expect(() => parse('1,2,x\n1,2,3\n')).toThrow(/line 1 of the ratings/)
    expect(() => parse('1,2,3\na,b,c\n')).toThrow(/line 2 of the ratings/)
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

  it('leave the columns to the header behind them, if they are first and counted', () => {
    const text = '"no end,1,2\nrating,item,user\n3,2,1\n'
    const { ratings, badLines } = parse(text, { badLines: 'count' })
    expect(ratings).toEqual([{ user: '1', item: '2', rating: 3, timestamp: -1 }])
    expect(badLines).toBe(1)
    expect(() => parse(text)).toThrow(
      expect.objectContaining({ code: 'UNPARSABLE_RECORD', details: { line: 1 } }),
    )
  })

  it('fail in the first line if it shows no format', () => {
    expect(() => parse('hello\n')).toThrow(/no tab, "::", comma, semicolon/)
  })
})

describe('a header', () => {
  it('may have numbers where the caller says that it is one', () => {
    const columns = { user: '7', item: '8', rating: '9' }
    const { ratings } = parse('9,8,7\n5,i,u\n', { columns, hasHeader: true })
    expect(ratings).toMatchObject([{ user: 'u', item: 'i', rating: 5 }])
  })

  it('gets the positions of what is read', () => {
    const found: unknown[] = []
    parse('item,when,user,rating\ni,,u,5\n', {
      columns: { time: '' },
      onColumns: (_, positions) => found.push(positions),
    })
    expect(found).toEqual([{ user: 2, item: 0, rating: 3, time: undefined, event: undefined }])
  })

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

/** The columns that are read, in words, of a header and one line that fits it. */
function columnsOf(header: string, options: RatingsParserOptions = {}): string {
  const said: string[] = []
  const line = header.replace(/[^,;\t:]+(::)?/g, (_, colons = '') => `7${colons}`)
  parse(`${header}\n${line}\n`, { ...options, onColumns: (columns) => said.push(columns) })
  expect(said).toHaveLength(1)
  return said[0]!.replace(/ = column \d+/g, '')
}

describe('the columns of public data sets', () => {
  it.each([
    // MovieLens, Amazon, Book-Crossing, Yelp, Goodreads, Food.com, MyAnimeList, Last.fm, Netflix, RecBole.
    [
      'userId,movieId,rating,timestamp',
      'user (userId), item (movieId), rating (rating), time (timestamp)',
    ],
    ['item,user,rating,timestamp', 'user (user), item (item), rating (rating), time (timestamp)'],
    [
      'user_id,parent_asin,rating,timestamp,history',
      'user (user_id), item (parent_asin), rating (rating), time (timestamp)',
    ],
    [
      'overall,verified,reviewTime,reviewerID,asin,reviewerName,unixReviewTime',
      'user (reviewerID), item (asin), rating (overall), time (unixReviewTime)',
    ],
    [
      'marketplace\tcustomer_id\treview_id\tproduct_id\tproduct_parent\tproduct_title\tstar_rating\thelpful_votes\treview_date',
      'user (customer_id), item (product_id), rating (star_rating), time (review_date)',
    ],
    [
      '"User-ID";"ISBN";"Book-Rating"',
      'user (User-ID), item (ISBN), rating (Book-Rating), no time',
    ],
    [
      'review_id,user_id,business_id,stars,useful,funny,cool,text,date',
      'user (user_id), item (business_id), rating (stars), time (date)',
    ],
    [
      'user_id,book_id,is_read,rating,is_reviewed',
      'user (user_id), item (book_id), rating (rating), no time',
    ],
    [
      'user_id,recipe_id,date,rating,review',
      'user (user_id), item (recipe_id), rating (rating), time (date)',
    ],
    ['user_id,anime_id,rating', 'user (user_id), item (anime_id), rating (rating), no time'],
    ['userID\tartistID\tweight', 'user (userID), item (artistID), rating (weight), no time'],
    [
      'CustomerID,MovieID,Rating,Date',
      'user (CustomerID), item (MovieID), rating (Rating), time (Date)',
    ],
    ['user,song,play_count', 'user (user), item (song), rating (play_count), no time'],
    ['userid,itemid,rating', 'user (userid), item (itemid), rating (rating), no time'],
    // A name that is exact beats a part of one, an id beats a name.
    [
      'review_count,user_id,item_id,rating',
      'user (user_id), item (item_id), rating (rating), no time',
    ],
    [
      'user_name,user_id,item_id,rating',
      'user (user_id), item (item_id), rating (rating), no time',
    ],
    [
      'index,user_id,item_id,helpful_count,rating',
      'user (user_id), item (item_id), rating (rating), no time',
    ],
    [
      'item_rating_count,user_id,item_id,rating',
      'user (user_id), item (item_id), rating (rating), no time',
    ],
    [
      'item_id,user_id,timestamp,overall_rating_time,rating',
      'user (user_id), item (item_id), rating (rating), time (timestamp)',
    ],
    [
      'user_id,movie_title,movie_id,rating',
      'user (user_id), item (movie_id), rating (rating), no time',
    ],
    [
      'user_id,movie_id,release_date,rating,timestamp',
      'user (user_id), item (movie_id), rating (rating), time (timestamp)',
    ],
    [
      'user_id,movie_id,release_date,rating',
      'user (user_id), item (movie_id), rating (rating), no time',
    ],
    [
      'user_name,movie_title,score',
      'user (user_name), item (movie_title), rating (score), no time',
    ],
  ])('%j', (header, columns) => {
    expect(columnsOf(header)).toBe(columns)
  })

  it('may have the types of RecBole behind their names', () => {
    const said: string[] = []
    const text = 'item_id:token\tuser_id:token\trating:float\n2\t1\t3\n'
    const { ratings } = parse(text, { onColumns: (columns) => said.push(columns) })
    expect(ratings).toEqual([{ user: '1', item: '2', rating: 3, timestamp: -1 }])
    expect(said).toEqual([
      'user = column 2 (user_id:token), item = column 1 (item_id:token), rating = column 3 (rating:float), no time',
    ])
  })

  it.each([
    [
      'movie,viewer,r',
      'no column is surely the rating; the columns are 1 "movie", 2 "viewer", 3 "r"',
    ],
    ['review_count,user_id,item_id', 'no column is surely the rating'],
    ['a,b,c', 'no column is surely the user'],
    ['timestamp,visitorid,event,itemid,transactionid', 'no column is surely the rating'],
    ['user_id,movie_id,book_id,rating', 'the item may be "movie_id" or "book_id"'],
    ['user_id,item_id,score,stars', 'the rating may be "score" or "stars"'],
    ['user_id,item_id,rating,Rating', 'the rating may be "rating" or "Rating"'],
    ['user_id,item_id,rating,date,time', 'the time may be "date" or "time"'],
  ])('that are not clear are an error that lists them: %j', (header, message) => {
    expect(() => columnsOf(header)).toThrow(
      expect.objectContaining({
        code: 'UNPARSABLE_RECORD',
        message: expect.stringContaining(`line 1 of the ratings: ${message}`),
      }),
    )
    expect(() => columnsOf(header)).toThrow('--columns user=NAME,item=NAME,rating=NAME,time=NAME')
  })

  it.each(['\n', '\r\n'])('are the same behind a byte order mark, with line ends %j', (end) => {
    const text = ['\ufeff"item_id","user_id","rating"', '"2","1","3"', '4,1,5', ''].join(end)
    expect(parse(text).ratings.map(({ user, item }) => [user, item])).toEqual([
      ['1', '2'],
      ['1', '4'],
    ])
  })

  it('may stand beside others behind the usual four', () => {
    const text = 'user,item,rating,comment\n1,2,3,"good, cheap"\n0,0,0,bad\n'
    expect(parse(text).ratings).toEqual([
      { user: '1', item: '2', rating: 3, timestamp: -1 },
      { user: '0', item: '0', rating: 0, timestamp: -1 },
    ])
  })
})

describe('columns that someone names', () => {
  const [rating] = [{ user: '1', item: '2', rating: 3, timestamp: -1 }]

  it('are read, and the others are found by their names', () => {
    const columns = { rating: 'r', item: 'movie' }
    expect(parse('movie,viewer,r\n2,1,3\n', { columns }).ratings).toEqual([rating])
    const both = { user: 'buyer', item: 'thing', rating: 'review_count', time: '' }
    const text = 'thing,rating,buyer,review_count,timestamp\n2,9,1,3,7\n'
    expect(parse(text, { columns: both }).ratings).toEqual([rating])
  })

  it('are positions in a file without a header', () => {
    const columns = { item: '1', user: '2' }
    expect(parse('2,1,3,7\n', { columns }).ratings).toEqual([rating])
    expect(parse('2,1,3,7\n', { columns: { ...columns, time: '4' } }).ratings).toEqual([
      { ...rating, timestamp: 7000 },
    ])
  })

  it.each([
    ['user_id,item_id,rating', { user: 'buyer' }, 'no column is named "buyer"; the columns are 1'],
    ['a,a,rating', { user: 'a', item: '2' }, 'two columns are named "a"'],
    ['1,2,3', { user: 'buyer' }, 'positions from 1 to 3, not "buyer"'],
    ['1,2,3', { user: '4' }, 'positions from 1 to 3, not "4"'],
    ['1,2,3', { user: '0' }, 'positions from 1 to 3, not "0"'],
  ])('of %j as %j are refused', (header, columns, message) => {
    expect(() => parse(`${header}\n1,2,3\n`, { columns })).toThrow(message)
  })

  it('are said, with the rule that chose them where there is no header', () => {
    const said: string[] = []
    parse('1,2,3\n', { onColumns: (columns) => said.push(columns) })
    parse('1::2::3::4\n', { onColumns: (columns) => said.push(columns) })
    expect(said).toEqual([
      'no header, so by position: user = column 1, item = column 2, rating = column 3, no time',
      'no header, so by position: user = column 1, item = column 2, rating = column 3, time = column 4',
    ])
  })
})
