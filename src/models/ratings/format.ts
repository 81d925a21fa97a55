import { WeirError } from '../../core/errors.ts'
import { kindOf, type OptionKind, oneOf } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import type { Rating } from './rating.ts'

/**
 * Text formats of ratings, one a line. The time (Unix seconds or milliseconds, or ISO 8601) may be missing.
 *
 *   tab            `user<TAB>item<TAB>rating<TAB>seconds`     u.data, u1.base
 *   double-colon   `user::item::rating::seconds`              ratings.dat
 *   csv            header `userId,movieId,rating,timestamp`   ratings.csv; fields may be in quotes
 *   semicolon      the same with semicolons
 *   pipe           `user|item|rating|seconds`
 *   space          `user item rating seconds`, with one or more blanks or tabs between them
 *
 * The first line may be a header (`columnsOfHeader`): its columns may have any order, and others among them.
 * In csv, a first line without any number is a header whatever it names.
 */
export type RatingsFormat = 'tab' | 'double-colon' | 'csv' | 'semicolon' | 'pipe' | 'space'

/** The values of a format. */
export const RATINGS_FORMAT: OptionKind<RatingsFormat> = oneOf(
  'tab',
  'double-colon',
  'csv',
  'semicolon',
  'pipe',
  'space',
)

/** Separator of the fields of a line. */
export const SEPARATORS: Readonly<Record<RatingsFormat, string>> = {
  tab: '\t',
  'double-colon': '::',
  csv: ',',
  semicolon: ';',
  pipe: '|',
  space: ' ',
}

/** The formats in the order in which a first line is searched for their separators: the surest one first. */
const DETECTED = ['double-colon', 'tab', 'csv', 'semicolon', 'pipe', 'space'] as const

/** The format of a first line. Throws UNPARSABLE_RECORD if it is of none. */
export function detectRatingsFormat(firstLine: string): RatingsFormat {
  const line = firstLine.trim()
  const format = DETECTED.find((name) => line.includes(SEPARATORS[name]))
  if (format !== undefined) return format
  const hint = /^\d+:$/.test(line) ? `; ${OF_NETFLIX}` : ''
  throw new WeirError(
    'UNPARSABLE_RECORD',
    `line 1 of the ratings: no tab, "::", comma, semicolon, "|" or blank; give user, item, rating and, if known, Unix seconds${hint}`,
    { details: { line: 1 } },
  )
}

/** What to do with blocks of `movie:` and lines of `user,rating,date`. */
const OF_NETFLIX = `blocks of one movie each, as those of Netflix, become lines with: awk -F, '/:$/{sub(":","");m=$0;next}{print $1","m","$2","$3}' FILE`

function isRating(given: unknown): boolean {
  const { user, item, rating } = (given ?? {}) as Partial<Rating>
  return typeof user === 'string' && typeof item === 'string' && typeof rating === 'number'
}

const RATING = kindOf<Rating>('a rating, with user, item and rating', isRating)

/** One rating as a line of `format`, without line end; the time is truncated to whole seconds. */
export function formatRating(rating: Rating, format: RatingsFormat): string {
  const separator = SEPARATORS[format]
  if (separator === undefined || !isRating(rating)) {
    checkArgument('formatRating', 'rating', RATING, rating)
    checkArgument('formatRating', 'format', RATINGS_FORMAT, format)
  }
  const fields = [rating.user, rating.item, String(rating.rating)]
  if (rating.timestamp !== NO_TIMESTAMP) fields.push(String(Math.floor(rating.timestamp / 1000)))
  return fields.join(separator)
}

/** Header line of the csv format. */
export const RATINGS_CSV_HEADER = 'userId,movieId,rating,timestamp'
