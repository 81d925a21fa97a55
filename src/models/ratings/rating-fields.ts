import { isWeirError } from '../../core/errors.ts'
import { splitCsvRow } from '../../core/formats/csv-row.ts'
import { decimalNumber } from '../../core/text/decimal-number.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { isMeanId, MEAN_ID } from '../mean-id.ts'
import type { RatingColumns } from './columns.ts'
import { LARGEST_RATING, type Rating } from './rating.ts'
import { ratingTime } from './rating-time.ts'

/** A line that is no rating. */
export interface RefusedLine {
  readonly reason: 'unparsable' | 'reserved-id'
  /** What should stand there, after "expected". */
  readonly expected: string
}

const OTHER_ID = `another id than "${MEAN_ID}", which is that of the mean rows`
const USUAL_COLUMNS: RatingColumns = { user: 0, item: 1, rating: 2, time: 3 }
const USUAL_FIELDS = 4
const MORE_FIELDS =
  'at most four fields, or a header that names the columns of user, item, rating and time'

/**
 * The rating of a line, wherever it comes from: a file, a record of a topic, a request. Fields are without the
 * blanks around them; in csv, a field in quotes may hold separators, quotes and blanks. The time may be missing
 * or empty. Without `columns` they have the usual order.
 */
export function ratingOfLine(
  line: string,
  separator: string,
  columns?: RatingColumns,
): Rating | RefusedLine {
  const fields = fieldsOf(line, separator)
  if (!Array.isArray(fields)) return fields as RefusedLine
  const at = columns ?? USUAL_COLUMNS
  const [user = '', item = '', value] = [fields[at.user], fields[at.item], fields[at.rating]]
  if (user === '' || item === '' || value === undefined) {
    return unparsable('user, item and rating')
  }
  if (isMeanId(user) || isMeanId(item)) return { reason: 'reserved-id', expected: OTHER_ID }
  const rating = decimalNumber(value)
  if (Number.isNaN(rating)) return unparsable('a number as rating')
  if (Math.abs(rating) > LARGEST_RATING) {
    return unparsable(`a rating of at most ${LARGEST_RATING}`)
  }
  if (columns === undefined && fields.length > USUAL_FIELDS) return unparsable(MORE_FIELDS)
  const time = at.time === undefined ? '' : (fields[at.time] ?? '')
  const timestamp = time === '' ? NO_TIMESTAMP : ratingTime(time)
  if (Number.isNaN(timestamp)) return unparsable('Unix seconds or an ISO 8601 time')
  return { user, item, rating, timestamp }
}

/** Whether a line is no rating. */
export function isRefused(outcome: Rating | RefusedLine): outcome is RefusedLine {
  return 'reason' in outcome
}

/** Fields of a line without their quotes and the blanks around them. */
export function fieldsOf(line: string, separator: string): readonly string[] | RefusedLine {
  if (!hasQuotedField(line, separator)) return line.split(separator).map((field) => field.trim())
  try {
    return splitCsvRow(line, separator).map(({ text, quoted }) => (quoted ? text : text.trim()))
  } catch (error) {
    if (!isWeirError(error, 'UNPARSABLE_RECORD')) throw error
    return unparsable(`a row of csv (${error.message})`)
  }
}

/** Whether a field of csv begins with a quote; a quote inside of one is a part of its text. */
function hasQuotedField(line: string, separator: string): boolean {
  if (separator !== ',' && separator !== ';') return false
  return line.startsWith('"') || line.includes(`${separator}"`)
}

function unparsable(expected: string): RefusedLine {
  return { reason: 'unparsable', expected }
}
