import { decimalNumber } from '../../core/text/decimal-number.ts'

const ISO_TIME =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?))?\s*(?:(Z)|([+-]\d{2}):?(\d{2}))?$/

/**
 * Milliseconds since 1970 of a time in a file of ratings: Unix seconds, or a date or time of ISO 8601, in UTC
 * where it names no zone: `2015-03-09`, `2015-03-09 23:32:00`, `2015-03-09T23:32:00.5+01:00`. NaN if it is
 * neither.
 */
export function ratingTime(text: string): number {
  const trimmed = text.trim()
  if (trimmed === '') return Number.NaN
  const seconds = decimalNumber(trimmed)
  if (!Number.isNaN(seconds)) return seconds * 1000
  const parts = ISO_TIME.exec(trimmed)
  if (parts === null) return Number.NaN
  const [, date, time = '00:00', , hours, minutes] = parts
  return Date.parse(`${date}T${time}${hours === undefined ? 'Z' : `${hours}:${minutes}`}`)
}
