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
    ['', 'the user is missing'],
    [',b,5', 'the user is missing'],
    ['a', 'the user is missing'],
    ['a,,5', 'the item is missing'],
    ['a,b', 'the item is missing'],
    ['a,b,', 'the rating "" is not a number'],
    ['a,b,.', 'the rating "." is not a number'],
    ['a,b,five', 'the rating "five" is not a number'],
    ['a,b,5,', 'the time "" is not a number'],
    ['a,b,5,6,7', 'more than four fields'],
    ['a,b,1e999', 'not a number'],
    ['a,b,1e30', 'the rating is above 1000000000000000'],
    ['a,b,-1e16', 'the rating is above 1000000000000000'],
  ])('refuses "%s"', (line, message) => {
    expect(() => readText(ratingLineFormat(), line)).toThrow(message)
  })

  it.each([
    ['user', 'MEAN,7,5'],
    ['item', '7,MEAN,5'],
  ])('refuses a %s with the id of the mean rows, read and written', (field, line) => {
    const format = ratingLineFormat()
    const refusal = { message: expect.stringContaining('"MEAN" is the id of the mean rows') }
    expect(() => readText(format, line)).toThrow(
      expect.objectContaining({ code: 'UNPARSABLE_RECORD', ...refusal }),
    )
    expect(() => writtenText(format, { ...RATING, [field]: 'MEAN' })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', ...refusal }),
    )
    expect(readText(format, line.toLowerCase())).toMatchObject({ rating: 5 })
  })

  it('refuses to write ids that it could not read back', () => {
    for (const user of ['', 'a,b', 'a\nb', '\ud800']) {
      expect(() => writtenText(ratingLineFormat(), { ...RATING, user })).toThrow(
        'cannot be written',
      )
    }
  })
})
