import { expect, it } from 'vitest'
import { ratingTime } from '../../../src/models/ratings/rating-time.ts'

it.each([
  ['874965758', 874_965_758_000],
  [' 1.5 ', 1500],
  ['2015-03-09', Date.UTC(2015, 2, 9)],
  ['2015-03-09 23:32:00', Date.UTC(2015, 2, 9, 23, 32)],
  ['2015-03-09T23:32Z', Date.UTC(2015, 2, 9, 23, 32)],
  ['2015-03-09T23:32:00.25+01:00', Date.UTC(2015, 2, 9, 22, 32, 0, 250)],
  ['2015-03-09T23:32:00-0130', Date.UTC(2015, 2, 10, 1, 2)],
])('"%s" is %i ms after 1970', (text, ms) => {
  expect(ratingTime(text)).toBe(ms)
})

it.each(['', ' ', 'x', '2015-13-01', '9.3.2015', '2015-03-09T25:00', 'Infinity'])(
  '"%s" is no time',
  (text) => {
    expect(ratingTime(text)).toBeNaN()
  },
)
