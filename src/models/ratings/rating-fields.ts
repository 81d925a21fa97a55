import { isWeirError } from '../../core/errors.ts'
import { splitCsvRow } from '../../core/formats/csv-row.ts'
import { decimalNumber } from '../../core/text/decimal-number.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { isMeanId, MEAN_ID } from '../mean-id.ts'
import { type RatingColumns, USUAL_COLUMNS } from './columns.ts'
import { LARGEST_RATING, type Rating } from './rating.ts'
import { type LatestTime, PRESENT_TIME, ratingTime, TIME_FORM } from './rating-time.ts'

/** A line that is no rating. */
export interface RefusedLine {
  readonly reason: 'unparsable' | 'reserved-id'
  /** What should stand there, after "expected". */
  readonly expected: string
}

/** How the lines of a file or a topic are read. */
export interface RatingLayout {
  readonly separator: string
  /** Whether the bytes of all lines are known to be UTF-8: then plain lines may have letters beyond ASCII. */
  readonly isUtf8?: boolean
  /** Undefined: user, item, rating and perhaps a time, in this order and nothing else. */
  readonly columns?: RatingColumns | undefined
  /** What an event of each kind counts; with a column of kinds. */
  readonly weights?: ReadonlyMap<string, number> | undefined
}

/** Separator of fields that have one or more blanks between them. */
export const BLANKS = ' '

const OTHER_ID = `another id than "${MEAN_ID}", which is that of the mean rows`
const TEXT_ID = 'ids without NUL bytes; is this text in UTF-16 without a byte order mark?'
/** Most fields of a line without columns. */
export const USUAL_FIELDS = 4
const MORE_FIELDS =
  'at most four fields, or a header that names the columns of user, item, rating and time'

/**
 * The rating of a line, wherever it comes from: a file, a record of a topic, a request. Fields are without the
 * blanks around them; in csv, a field in quotes may hold separators, quotes and blanks. The time may be missing
 * or empty.
 */
export function ratingOfLine(
  line: string,
  layout: RatingLayout,
  latest: LatestTime,
): Rating | RefusedLine {
  const { separator, columns } = layout
  const fields = fieldsOf(line, separator)
  if (!Array.isArray(fields)) return fields as RefusedLine
  const at = columns ?? USUAL_COLUMNS
  const [user = '', item = ''] = [fields[at.user], fields[at.item]]
  const hasRating = at.rating === undefined || fields[at.rating] !== undefined
  if (user === '' || item === '' || !hasRating) {
    return unparsable(at.rating === undefined ? 'user and item' : 'user, item and rating')
  }
  if (isMeanId(user) || isMeanId(item)) return { reason: 'reserved-id', expected: OTHER_ID }
  if (user.includes('\0') || item.includes('\0')) return unparsable(TEXT_ID)
  const rating = ratingIn(fields, at, layout.weights)
  if (typeof rating !== 'number') return rating
  if (columns === undefined && fields.length > USUAL_FIELDS) return unparsable(MORE_FIELDS)
  const time = at.time === undefined ? '' : (fields[at.time] ?? '')
  const timestamp = time === '' ? NO_TIMESTAMP : ratingTime(time)
  if (Number.isNaN(timestamp)) return unparsable(TIME_FORM)
  if (latest.isBefore(timestamp)) return unparsable(PRESENT_TIME)
  return { user, item, rating, timestamp }
}

/** The rating of some fields, or what the event counts that they are. */
function ratingIn(
  fields: readonly string[],
  { rating: at, event }: RatingColumns,
  weights: RatingLayout['weights'],
): number | RefusedLine {
  if (event !== undefined) {
    const kind = fields[event] ?? ''
    return weights?.get(kind) ?? unparsable(`an event of a kind that has a weight, not "${kind}"`)
  }
  if (at === undefined) return 1
  const rating = decimalNumber(fields[at]!)
  if (Number.isNaN(rating)) return unparsable('a number as rating')
  return Math.abs(rating) <= LARGEST_RATING
    ? rating
    : unparsable(`a rating of at most ${LARGEST_RATING}`)
}

/** Whether a line is no rating. */
export function isRefused(outcome: Rating | RefusedLine): outcome is RefusedLine {
  return 'reason' in outcome
}

/** Fields of a line without their quotes and the blanks around them. */
export function fieldsOf(line: string, separator: string): readonly string[] | RefusedLine {
  if (separator === BLANKS) return line.trim().split(/[ \t]+/)
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

/** The refusal of a line that should have been something else. */
export function unparsable(expected: string): RefusedLine {
  return { reason: 'unparsable', expected }
}
