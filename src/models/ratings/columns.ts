import { WeirError } from '../../core/errors.ts'
import { columnRank, type RatingField } from './column-names.ts'

/** Positions of the fields of a rating in a line, from 0. */
export interface RatingColumns {
  readonly user: number
  readonly item: number
  /** Undefined: each line is an event, which counts 1 or what its kind counts. */
  readonly rating: number | undefined
  /** Undefined: the lines have no time. */
  readonly time: number | undefined
  /** The kind of an event; undefined: the lines have none. */
  readonly event?: number | undefined
}

/**
 * Columns that a caller named: by their names in the header, or by their positions from 1; '' for no time, or for no
 * rating.
 */
export type NamedColumns = Readonly<Partial<Record<RatingField, string>>>

/** What the lines of a file may be besides ratings. */
export interface LinesWithoutRating {
  /** Whether a file without a column of ratings is a list of events, each of which counts 1. */
  readonly mayLackRating?: boolean | undefined
  /** Column of the kinds of events, by its name or position; the ratings are what their kinds count. */
  readonly event?: string | undefined
}

const NEEDED: readonly RatingField[] = ['user', 'item', 'rating']
const ALL: readonly RatingField[] = [...NEEDED, 'time']
/** The columns of lines that say nothing else. */
export const USUAL_COLUMNS: RatingColumns = { user: 0, item: 1, rating: 2, time: 3 }
const ADVICE =
  'say which columns to read (--columns user=NAME,item=NAME,rating=NAME,time=NAME), or rename them to user, item, rating and timestamp'
/** What to do where lines have no rating. */
export const EVENTS_ADVICE =
  'where each line is an event without a rating, say so with --columns rating= (or --implicit)'

/**
 * The columns of a header: those that are named, and for the others the one column whose name fits best
 * (`columnRank`). Throws UNPARSABLE_RECORD if two fit alike, or a user, an item or a rating has none.
 */
export function columnsOfHeader(
  header: readonly string[],
  named: NamedColumns = {},
  { mayLackRating = false, event }: LinesWithoutRating = {},
): RatingColumns {
  const found: Partial<Record<RatingField | 'event', number | undefined>> = {}
  for (const field of ALL) {
    const name = named[field]
    if (name !== undefined && name !== '') found[field] = positionOf(name, header)
  }
  if (event !== undefined) found.event = positionOf(event, header)
  for (const field of ALL) {
    const isLeftOut = named[field] === '' || (field === 'rating' && event !== undefined)
    if (!isLeftOut) found[field] ??= bestOf(field, header, new Set(Object.values(found)))
  }
  const isOfEvents = mayLackRating || event !== undefined || named.rating === ''
  const needed = isOfEvents ? NEEDED.slice(0, 2) : NEEDED
  const missing = needed.find((field) => found[field] === undefined)
  if (missing !== undefined) {
    const advice = missing === 'rating' ? `; ${EVENTS_ADVICE}` : ''
    throw unclear(`no column is surely the ${missing}`, header, advice)
  }
  const { user, item, rating, time } = found
  return requireDistinct({ user: user!, item: item!, rating, time, event: found.event })
}

/** The columns of a file without a header: the usual order, or the positions that are given. Throws UNPARSABLE_RECORD. */
export function columnsByPosition(
  fields: number,
  named: NamedColumns = {},
  { mayLackRating = false, event }: LinesWithoutRating = {},
): RatingColumns {
  const isOwnOrder = Object.keys(named).length > 0 || event !== undefined
  // Where others stand elsewhere, the time may, too.
  const time = isOwnOrder || fields < ALL.length ? undefined : USUAL_COLUMNS.time
  const at = (field: RatingField, usual: number | undefined): number | undefined => {
    const name = named[field]
    return name === undefined ? usual : placeOf(name, fields)
  }
  const isWithout = event !== undefined || (mayLackRating && fields < NEEDED.length)
  return requireDistinct({
    user: at('user', USUAL_COLUMNS.user) ?? fields,
    item: at('item', USUAL_COLUMNS.item) ?? fields,
    rating: at('rating', isWithout ? undefined : USUAL_COLUMNS.rating),
    time: at('time', time),
    event: event === undefined ? undefined : placeOf(event, fields),
  })
}

/** Whether the names of a first line without a number are surely no ids: one of them is that of a user or an item. */
export function namesColumns(names: readonly string[]): boolean {
  return names.some((name) => (columnRank(name, 'user') ?? columnRank(name, 'item')) !== undefined)
}

/** Throws UNPARSABLE_RECORD where one column would be two fields. */
function requireDistinct(columns: RatingColumns): RatingColumns {
  for (const [n, field] of ALL.entries()) {
    const column = columns[field]
    const twin = ALL.slice(0, n).find((other) => column !== undefined && columns[other] === column)
    if (twin === undefined) continue
    throw new WeirError(
      'UNPARSABLE_RECORD',
      `line 1 of the ratings: column ${column! + 1} would be the ${twin} and the ${field}; ${ADVICE}`,
      { details: { line: 1 } },
    )
  }
  return columns
}

/** The place of a position from 1; undefined for ''. Throws UNPARSABLE_RECORD. */
function placeOf(name: string, fields: number): number | undefined {
  if (name === '') return undefined
  const place = /^[1-9]\d*$/.test(name) ? Number(name) - 1 : fields
  if (place < fields) return place
  throw new WeirError(
    'UNPARSABLE_RECORD',
    `line 1 of the ratings is no header: it has a number. --columns takes positions from 1 to ${fields}, not "${name}"`,
    { details: { line: 1 } },
  )
}

/** Whether the columns are user, item, rating and perhaps a time, in this order and no others before. */
export function isUsualOrder({ user, item, rating, time, event }: RatingColumns): boolean {
  const isUsual = user === 0 && item === 1 && rating === 2 && event === undefined
  return isUsual && (time === undefined || time === 3)
}

/** The columns in words: `user = column 1 (user_id), ...`. */
export function columnsText(columns: RatingColumns, header?: readonly string[]): string {
  const { event } = columns
  const column = (field: RatingField | 'event'): string => {
    const at = columns[field]
    if (at === undefined) return field === 'rating' ? 'each line counts 1' : `no ${field}`
    const name = header === undefined ? '' : ` (${header[at]})`
    return `${field} = column ${at + 1}${name}`
  }
  const read = ALL.map((field) => (field === 'rating' && event !== undefined ? 'event' : field))
  const text = read.map(column).join(', ')
  return header === undefined ? `no header, so by position: ${text}` : text
}

function positionOf(name: string, header: readonly string[]): number {
  const at = header.indexOf(name)
  if (at >= 0 && header.indexOf(name, at + 1) < 0) return at
  if (at >= 0) throw unclear(`two columns are named "${name}"`, header)
  const position = /^[1-9]\d*$/.test(name) ? Number(name) - 1 : header.length
  if (position < header.length) return position
  throw unclear(`no column is named "${name}"`, header)
}

/** The column that fits a field best; undefined if none fits. */
function bestOf(
  field: RatingField,
  header: readonly string[],
  taken: ReadonlySet<number | undefined>,
): number | undefined {
  const ranks = header.map((name, at) => (taken.has(at) ? undefined : columnRank(name, field)))
  const best = Math.min(...ranks.map((rank) => rank ?? Number.POSITIVE_INFINITY))
  const candidates = header.flatMap((_, at) => (ranks[at] === best ? [at] : []))
  if (candidates.length < 2) return candidates[0]
  const names = candidates.map((at) => `"${header[at]}"`).join(' or ')
  throw unclear(`the ${field} may be ${names}`, header)
}

function unclear(problem: string, header: readonly string[], advice = ''): WeirError {
  const names = header.map((name, at) => `${at + 1} "${name}"`).join(', ')
  return new WeirError(
    'UNPARSABLE_RECORD',
    `line 1 of the ratings: ${problem}; the columns are ${names}; ${ADVICE}${advice}`,
    { details: { line: 1, columns: header.join(' ') } },
  )
}
