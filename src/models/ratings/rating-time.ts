import { type Clock, systemClock } from '../../core/clock.ts'
import { decimalNumber } from '../../core/text/decimal-number.ts'

const ISO_TIME =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?))?\s*(?:(Z)|([+-]\d{2})(?::?(\d{2}))?)?$/

/** Numbers from here on are milliseconds: as seconds they are of the year 5138, as milliseconds of March 1973. */
const MILLISECONDS_FROM = 1e11
/** The end of the times that can be read: in ms, and so what a line can say in seconds without being read as ms. */
export const TIMES_END_MS = 1e14
const DAY_MS = 24 * 60 * 60 * 1000

/** What a time is, for messages. */
export const TIME_FORM = 'Unix seconds or milliseconds, or an ISO 8601 time, from 1970 on'
/** What a time that is too far ahead should be. */
export const PRESENT_TIME =
  'a time at most a day ahead of now; is it in another unit than Unix seconds or milliseconds?'

/**
 * Milliseconds since 1970 of a time in a file of ratings: Unix seconds, Unix milliseconds (a number from 1e11 on), or a
 * date or time of ISO 8601, in UTC where it names no zone: `2015-03-09`, `2015-03-09 23:32:00`,
 * `2015-03-09T23:32:00.5+01:00`. NaN if it is none of them, or before 1970.
 */
export function ratingTime(text: string): number {
  const trimmed = text.trim()
  if (trimmed === '') return Number.NaN
  const number = decimalNumber(trimmed)
  if (!Number.isNaN(number)) return timeOfNumber(number)
  const parts = ISO_TIME.exec(trimmed)
  if (parts === null) return Number.NaN
  const [, date, time = '00:00', , hours, minutes = '00'] = parts
  const ms = Date.parse(`${date}T${time}${hours === undefined ? 'Z' : `${hours}:${minutes}`}`)
  return ms >= 0 ? ms : Number.NaN
}

/** Milliseconds since 1970 of a number of seconds or milliseconds. NaN for one below 0. */
export function timeOfNumber(number: number): number {
  if (!(number >= 0)) return Number.NaN
  return number < MILLISECONDS_FROM ? number * 1000 : number
}

/** Knows which times are too far ahead to be those of something that has happened. */
export class LatestTime {
  private readonly clock: Pick<Clock, 'nowMs'>
  /** So far ahead a time may be, as of the last look at the clock: most times need none. */
  private latest = Number.NEGATIVE_INFINITY

  constructor(clock: Pick<Clock, 'nowMs'> = systemClock) {
    this.clock = clock
  }

  /** Whether a time, ms since 1970, is more than a day after now. */
  isBefore(ms: number): boolean {
    if (ms <= this.latest) return false
    this.latest = this.clock.nowMs() + DAY_MS
    return ms > this.latest
  }
}
