import { describe, expect, it } from 'vitest'
import { ratingLineFormat } from '../../../src/models/ratings/line-format.ts'
import { readText, writtenText } from '../../core/formats/format-fixture.ts'

const RATING = { user: '123456', item: 'ü 1', rating: 4.5, timestamp: 1_234_567_890_000 }

describe('the rating line format', () => {
  it.each([
    ['csv', '123456,ü 1,4.5,1234567890'],
    ['tab', '123456\tü 1\t4.5\t1234567890'],
    ['double-colon', '123456::ü 1::4.5::1234567890'],
  ] as const)('reads and writes %s, golden', (name, line) => {
    const format = ratingLineFormat(name)
    expect(writtenText(format, RATING)).toBe(line)
    expect(readText(format, line)).toEqual(RATING)
    expect(readText(format, `${line}\r\n`)).toEqual(RATING)
  })

  it('takes a line without a time, and numbers in any notation', () => {
    expect(readText(ratingLineFormat(), 'a,b,5')).toEqual({
      user: 'a',
      item: 'b',
      rating: 5,
      timestamp: -1,
    })
    expect(readText(ratingLineFormat(), 'a,b,-1e-3,1.5')).toMatchObject({
      rating: -0.001,
      timestamp: 1500,
    })
    expect(readText(ratingLineFormat(), 'a,b, 0.1234567890123456789 ').rating).toBe(
      0.12345678901234568,
    )
    expect(readText(ratingLineFormat(), 'a,b,.5').rating).toBe(0.5)
    expect(readText(ratingLineFormat('double-colon'), 'a:b::c::5').user).toBe('a:b')
  })

  it.each([
    ['', 'expected user, item and rating'],
    [',b,5', 'expected user, item and rating'],
    ['a', 'expected user, item and rating'],
    ['a,,5', 'expected user, item and rating'],
    ['a,b', 'expected user, item and rating'],
    ['a,b,', 'expected a number as rating'],
    ['a,b,.', 'expected a number as rating'],
    ['a,b,five', 'expected a number as rating'],
    ['a,b,0x5', 'expected a number as rating'],
    ['a,b,5,soon', 'expected Unix seconds or milliseconds, or an ISO 8601 time'],
    ['a,b,5,-8', 'expected Unix seconds or milliseconds, or an ISO 8601 time, from 1970 on'],
    ['a,b,5,880000000000000', 'expected a time at most a day ahead of now'],
    ['a,b,5,1e17', 'expected a time at most a day ahead of now'],
    ['a\0b,c,5', 'expected ids without NUL bytes'],
    ['a,b,5,6,7', 'expected at most four fields'],
    ['a,b,1e999', 'expected a number as rating'],
    ['a,b,1e30', 'expected a rating of at most 1000000000000000'],
    ['a,b,-1e16', 'expected a rating of at most 1000000000000000'],
    ['a,b,5\nc,d,4', 'expected one rating, not several lines'],
    ['a,b\nc,5', 'expected one rating, not several lines'],
    ['a,"b,5', 'the closing quote is missing'],
  ])('refuses "%s"', (line, message) => {
    expect(() => readText(ratingLineFormat(), line)).toThrow(message)
  })

  it.each([
    ['user', 'MEAN,7,5'],
    ['item', '7,MEAN,5'],
  ])('refuses a %s with the id of the mean rows, read and written', (field, line) => {
    const format = ratingLineFormat()
    expect(() => readText(format, line)).toThrow(
      expect.objectContaining({
        code: 'UNPARSABLE_RECORD',
        message: expect.stringContaining('expected another id than "MEAN"'),
      }),
    )
    expect(() => writtenText(format, { ...RATING, [field]: 'MEAN' })).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('"MEAN" is the id of the mean rows'),
      }),
    )
    expect(readText(format, line.toLowerCase())).toMatchObject({ rating: 5 })
  })

  it('refuses to write ids that it could not read back', () => {
    for (const user of ['', 'a\nb', 'a\0b', '\ud800']) {
      expect(() => writtenText(ratingLineFormat(), { ...RATING, user })).toThrow(
        'cannot be written',
      )
    }
    for (const user of ['a\tb', ' a', 'a\u00a0']) {
      expect(() => writtenText(ratingLineFormat('tab'), { ...RATING, user })).toThrow(
        'cannot be written',
      )
    }
  })

  it.each(['a,b', 'say "hi"', '"', ' a ', '\ufeffa', 'x'.repeat(500)])(
    'writes the id %j so that it is read back',
    (id) => {
      const rating = { ...RATING, user: id, item: `i${id}` }
      expect(readText(ratingLineFormat(), writtenText(ratingLineFormat(), rating))).toEqual(rating)
    },
  )
})
