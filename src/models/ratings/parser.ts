import { isUtf8 } from 'node:buffer'
import { WeirError } from '../../core/errors.ts'
import {
  aFunction,
  bytes,
  flag,
  numberIn,
  oneOf,
  recordOf,
  required,
  text,
} from '../../core/options/kinds.ts'
import { checkArgument, checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import { decimalNumber } from '../../core/text/decimal-number.ts'
import { requireLineEnd } from '../../core/text/longest-line.ts'
import {
  columnsByPosition,
  columnsOfHeader,
  columnsText,
  EVENTS_ADVICE,
  isUsualOrder,
  type NamedColumns,
  namesColumns,
  type RatingColumns,
} from './columns.ts'
import { detectRatingsFormat, RATINGS_FORMAT, type RatingsFormat, SEPARATORS } from './format.ts'
import { RatingLineReader } from './line-reader.ts'
import { LARGEST_RATING, type Rating } from './rating.ts'
import { fieldsOf, isRefused, type RefusedLine } from './rating-fields.ts'

/** What to do with a line that holds no rating. */
export type BadLines = 'fail' | 'count'

/** Takes one rating; arguments avoid an object per line. */
export type RatingSink = (user: string, item: string, rating: number, timestamp: number) => void

/** Takes a line that holds no rating: its number, its text, and what was expected. */
export type BadLineSink = (line: number, text: string, expected: string) => void

/** What events count. */
export interface EventWeights {
  /** Column of their kinds, by its name in the header or its position from 1. */
  readonly column: string
  /** By kind; one that counts 0 is left out. */
  readonly weights: Readonly<Record<string, number>>
}

/** Options of the parser. */
export interface RatingsParserOptions {
  /** @default detected from the first line */
  readonly format?: RatingsFormat
  /** @default 'fail' */
  readonly badLines?: BadLines
  /** Columns by name or position. @default those that the header surely names; without a header the usual order */
  readonly columns?: NamedColumns
  /** With 'count', gets each bad line. */
  readonly onBadLine?: BadLineSink
  /**
   * Whether a file without a column of ratings is a list of events, each of which counts 1. So is every file with
   * `columns: { rating: '' }`. @default false
   */
  readonly mayLackRating?: boolean
  /** Each line is an event of a kind. @default lines have ratings */
  readonly events?: EventWeights
  /** Whether the first line names the columns, whatever it has. @default a first line without a number does */
  readonly hasHeader?: boolean
  /** Called once, with the columns that are read, in words and as positions. */
  readonly onColumns?: (columns: string, positions: RatingColumns) => void
}

/** The options of a parser. */
export const RATINGS_PARSER: OptionShape<RatingsParserOptions> = {
  format: RATINGS_FORMAT,
  badLines: oneOf('fail', 'count'),
  columns: nested<NamedColumns>({ user: text, item: text, rating: text, time: text }),
  onBadLine: aFunction(),
  mayLackRating: flag,
  events: nested<EventWeights>({
    column: required(text),
    weights: required(recordOf(numberIn({ min: -LARGEST_RATING, max: LARGEST_RATING }))),
  }),
  hasHeader: flag,
  onColumns: aFunction(),
}

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
/** Most characters of a bad line that an error shows. */
const SHOWN = 60

/**
 * Streaming parser: `push` chunks of bytes of any size, then `end`. Line ends are LF or CRLF; empty
 * lines are skipped. A bad line throws UNPARSABLE_RECORD with its line number, one that is not UTF-8
 * MALFORMED_DATA, or is counted. One that does not end throws MALFORMED_DATA.
 */
export class RatingsParser {
  private readonly sink: RatingSink
  private readonly badLines: BadLines
  private readonly options: RatingsParserOptions
  private separator: string | undefined
  /** Undefined until a first line has said what the columns are. */
  private lines: RatingLineReader | undefined
  private columns: RatingColumns | undefined
  /** What to do about lines that are no ratings, as an end of their errors. */
  private advice = ''
  /** Whether all that is being parsed is UTF-8. */
  private isText = true
  /** Bytes of the last line, whose end is still missing. */
  private rest: Uint8Array = new Uint8Array(0)
  private line = 0
  private bad = 0

  constructor(sink: RatingSink, options: RatingsParserOptions = {}) {
    checkArgument('new RatingsParser', 'sink', aFunction(), sink)
    checkOptions('new RatingsParser', RATINGS_PARSER, options)
    this.sink = sink
    this.options = options
    this.badLines = options.badLines ?? 'fail'
    this.separator = options.format === undefined ? undefined : SEPARATORS[options.format]
  }

  /** Lines seen so far. */
  get lineCount(): number {
    return this.line
  }

  /** Bad lines so far, if `badLines` is 'count'. */
  get badLineCount(): number {
    return this.bad
  }

  /** Whether the lines are events: a pair may come often, and each time counts. */
  get hasEvents(): boolean {
    return this.columns !== undefined && this.columns.rating === undefined
  }

  /** Parses all lines that end inside this chunk. */
  push(chunk: Uint8Array): void {
    checkArgument('parser.push', 'chunk', bytes, chunk)
    const end = chunk.lastIndexOf(LINE_FEED) + 1
    if (end > 0) this.parse(joined(this.rest, chunk.subarray(0, end)))
    // The caller may write into the chunk again.
    this.rest = end > 0 ? chunk.slice(end) : joined(this.rest, chunk.slice())
    requireLineEnd(this.rest.length, `line ${this.line + 1} of the ratings`)
  }

  /** Parses the last line, which may have no line end. */
  end(): void {
    if (this.rest.length > 0) this.parse(joined(this.rest, Uint8Array.of(LINE_FEED)))
    this.rest = new Uint8Array(0)
  }

  private parse(lines: Uint8Array): void {
    this.isText = isUtf8(lines)
    let from = 0
    for (;;) {
      const to = lines.indexOf(LINE_FEED, from)
      if (to < 0) return
      const hasReturn = to > from && lines[to - 1] === CARRIAGE_RETURN
      this.parseLine(lines, from, hasReturn ? to - 1 : to)
      from = to + 1
    }
  }

  private parseLine(bytes: Uint8Array, from: number, to: number): void {
    this.line++
    if (to === from) return
    const { lines } = this
    if (this.isText && lines?.readPlain(bytes, from, to) === true) {
      this.take(lines.userOf(bytes), lines.itemOf(bytes), lines.rating, lines.timestamp)
    } else this.parseOther(bytes.subarray(from, to))
  }

  private take(user: string, item: string, rating: number, timestamp: number): void {
    // An event that counts nothing says nothing of its pair.
    if (rating !== 0 || this.options.events === undefined) this.sink(user, item, rating, timestamp)
  }

  /** Parses a line that is not plain, or the first one. */
  private parseOther(bytes: Uint8Array): void {
    const line = textOf(bytes)
    if (line === undefined) this.refuseBytes(bytes)
    else if (line.trim() !== '' && !(this.lines === undefined && this.isHeader(line))) {
      const rating = this.outcomeOf(line)
      if (isRefused(rating)) this.reject(line, rating.expected)
      else this.take(rating.user, rating.item, rating.rating, rating.timestamp)
    }
  }

  private outcomeOf(line: string): Rating | RefusedLine {
    if (this.lines !== undefined) return this.lines.outcomeOfText(line)
    // A line that is no row says nothing of the columns: the next one decides.
    return fieldsOf(line, this.separator as string) as RefusedLine
  }

  private refuseBytes(bytes: Uint8Array): void {
    if (this.badLines === 'count') {
      this.bad++
      this.options.onBadLine?.(this.line, new TextDecoder().decode(bytes), 'UTF-8')
      return
    }
    throw new WeirError(
      'MALFORMED_DATA',
      `line ${this.line} of the ratings is not UTF-8; convert the file, for example with "iconv -f latin1 -t utf-8"`,
      { details: { line: this.line } },
    )
  }

  /** Whether the first line is a header; notes what the columns are. */
  private isHeader(line: string): boolean {
    this.separator ??= SEPARATORS[detectRatingsFormat(line)]
    const { separator } = this
    const fields = fieldsOf(line, separator)
    if (!Array.isArray(fields)) return false
    const { columns: named, onColumns, events, mayLackRating } = this.options
    const without = { mayLackRating, event: events?.column }
    const isHeader = this.areNames(fields)
    const columns = isHeader
      ? columnsOfHeader(fields, named, without)
      : columnsByPosition(fields.length, named, without)
    onColumns?.(columnsText(columns, isHeader ? fields : undefined), columns)
    this.columns = columns
    if ((columns.rating ?? 0) >= fields.length) this.advice = `; ${EVENTS_ADVICE}`
    const isUsual = isUsualOrder(columns) && fields.length === (columns.time === undefined ? 3 : 4)
    const isOwn = !isUsual && (isHeader || named !== undefined || columns.rating === undefined)
    this.lines = new RatingLineReader({
      separator,
      isUtf8: true,
      columns: isOwn ? columns : undefined,
      weights: events === undefined ? undefined : new Map(Object.entries(events.weights)),
    })
    return isHeader
  }

  /** Whether the fields of a first line are names: a line of ratings has a number, the rating. */
  private areNames(fields: readonly string[]): boolean {
    if (this.options.hasHeader === true) return true
    if (fields.some((field) => !Number.isNaN(decimalNumber(field)))) return false
    const { columns: named = {}, events, mayLackRating = false } = this.options
    const mayBeEvent = mayLackRating || events !== undefined || named.rating === ''
    const areNamed = [named.user, named.item].every((name) => /^\d+$/.test(name ?? ''))
    return !(mayBeEvent && areNamed) || namesColumns(fields)
  }

  private reject(text: string, expected: string): void {
    if (this.badLines === 'count') {
      this.bad++
      this.options.onBadLine?.(this.line, text, expected)
      return
    }
    throw new WeirError(
      'UNPARSABLE_RECORD',
      `line ${this.line} of the ratings, "${text.slice(0, SHOWN)}": expected ${expected}; ` +
        `fix the line, or leave bad lines out with --bad-lines count (badLines: "count")${this.advice}`,
      { details: { line: this.line } },
    )
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true })

/** The text of bytes; undefined if they are not UTF-8. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second
  const all = new Uint8Array(first.length + second.length)
  all.set(first)
  all.set(second, first.length)
  return all
}
