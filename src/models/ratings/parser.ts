import { WeirError } from '../../core/errors.ts'
import { aFunction, bytes, oneOf, text } from '../../core/options/kinds.ts'
import { checkArgument, checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import { decimalNumber } from '../../core/text/decimal-number.ts'
import { requireLineEnd } from '../../core/text/longest-line.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { isMeanId } from '../mean-id.ts'
import {
  columnsByPosition,
  columnsOfHeader,
  columnsText,
  isUsualOrder,
  type NamedColumns,
  type RatingColumns,
} from './columns.ts'
import { detectRatingsFormat, RATINGS_FORMAT, type RatingsFormat, SEPARATORS } from './format.ts'
import { LARGEST_RATING } from './rating.ts'
import { fieldsOf, isRefused, ratingOfLine } from './rating-fields.ts'

/** What to do with a line that holds no rating. */
export type BadLines = 'fail' | 'count'

/** Takes one rating; arguments avoid an object per line. */
export type RatingSink = (user: string, item: string, rating: number, timestamp: number) => void

/** Options of the parser. */
export interface RatingsParserOptions {
  /** @default detected from the first line */
  readonly format?: RatingsFormat
  /** @default 'fail' */
  readonly badLines?: BadLines
  /** Columns by name or position. @default those that the header surely names; without a header the usual order */
  readonly columns?: NamedColumns
  /** Called once, with the columns that are read in words. */
  readonly onColumns?: (columns: string) => void
}

const RATINGS_PARSER: OptionShape<RatingsParserOptions> = {
  format: RATINGS_FORMAT,
  badLines: oneOf('fail', 'count'),
  columns: nested<NamedColumns>({ user: text, item: text, rating: text, time: text }),
  onColumns: aFunction(),
}

const LINE_FEED = 10

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
  /** Columns of the header, if they are not in the usual order. */
  private columns: RatingColumns | undefined
  private isFirst = true
  /** Whether the text that is being parsed has a quote, so that its lines are searched for one. */
  private hasQuotes = false
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
    const text = textOf(lines)
    if (text === undefined) this.parseOneByOne(lines)
    else this.parseText(text)
  }

  /** Parses lines of which one is not UTF-8, so that the error has its number. */
  private parseOneByOne(lines: Uint8Array): void {
    for (let from = 0; from < lines.length; ) {
      const to = lines.indexOf(LINE_FEED, from) + 1
      const text = textOf(lines.subarray(from, to))
      if (text !== undefined) this.parseText(text)
      else this.refuseBytes()
      from = to
    }
  }

  private refuseBytes(): void {
    this.line++
    if (this.badLines === 'count') {
      this.bad++
      return
    }
    throw new WeirError(
      'MALFORMED_DATA',
      `line ${this.line} of the ratings is not UTF-8; convert the file, for example with "iconv -f latin1 -t utf-8"`,
      { details: { line: this.line } },
    )
  }

  private parseText(text: string): void {
    this.hasQuotes = text.includes('"')
    let from = 0
    for (;;) {
      const to = text.indexOf('\n', from)
      if (to < 0) break
      this.parseLine(text, from, text.charCodeAt(to - 1) === 13 && to > from ? to - 1 : to)
      from = to + 1
    }
  }

  private parseLine(text: string, from: number, to: number): void {
    this.line++
    if (to === from) return
    if (this.isFirst && this.isHeader(text.slice(from, to))) return
    const separator = this.separator as string
    if (this.columns !== undefined || this.hasQuotes) {
      this.parseFields(text.slice(from, to))
      return
    }
    const width = separator.length
    const first = text.indexOf(separator, from)
    const second = first < 0 ? -1 : text.indexOf(separator, first + width)
    if (second < 0 || second >= to) {
      this.parseFields(text.slice(from, to))
      return
    }
    const third = text.indexOf(separator, second + width)
    const ratingEnd = third < 0 || third >= to ? to : third
    const rating = numberIn(text, second + width, ratingEnd)
    const user = idIn(text, from, first)
    const item = idIn(text, first + width, second)
    const timestamp = ratingEnd === to ? NO_TIMESTAMP : numberIn(text, ratingEnd + width, to) * 1000
    const isPlain = isId(user) && isId(item) && Math.abs(rating) <= LARGEST_RATING
    if (isPlain && !Number.isNaN(timestamp)) this.sink(user, item, rating, timestamp)
    else this.parseFields(text.slice(from, to))
  }

  /** Whether the first line is a header; notes the order of its columns. */
  private isHeader(line: string): boolean {
    this.separator ??= SEPARATORS[detectRatingsFormat(line)]
    const fields = fieldsOf(line, this.separator)
    // A line that is no row says nothing of the columns: the next one decides.
    if (!Array.isArray(fields)) return false
    this.isFirst = false
    const { columns: named, onColumns } = this.options
    // A line of ratings has a number: the rating.
    const isHeader = !fields.some((field) => !Number.isNaN(decimalNumber(field)))
    const columns = isHeader
      ? columnsOfHeader(fields, named)
      : columnsByPosition(fields.length, named)
    onColumns?.(columnsText(columns, isHeader ? fields : undefined))
    const isUsual = isUsualOrder(columns) && fields.length === (columns.time === undefined ? 3 : 4)
    if (!isUsual && (isHeader || named !== undefined)) this.columns = columns
    return isHeader
  }

  /** Parses a line whose columns have another order, or that is not plain. */
  private parseFields(line: string): void {
    if (line.trim() === '') return
    const rating = ratingOfLine(line, this.separator as string, this.columns)
    if (isRefused(rating)) this.reject(line, rating.expected)
    else this.sink(rating.user, rating.item, rating.rating, rating.timestamp)
  }

  private reject(text: string, expected: string): void {
    if (this.badLines === 'count') {
      this.bad++
      return
    }
    throw new WeirError(
      'UNPARSABLE_RECORD',
      `line ${this.line} of the ratings, "${text.slice(0, 60)}": expected ${expected}; ` +
        'fix the line, or skip bad lines with the option badLines: "count"',
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

/** Whether a user or an item may have this id. */
function isId(text: string): boolean {
  return text !== '' && !isMeanId(text)
}

/** The text between two positions, without spaces around it. */
function idIn(text: string, from: number, to: number): string {
  return text.slice(from, to).trim()
}

/** The number between two positions, NaN if there is none. */
function numberIn(text: string, from: number, to: number): number {
  if (to - from === 1) {
    const digit = text.charCodeAt(from) - 48
    return digit >= 0 && digit <= 9 ? digit : Number.NaN
  }
  return decimalNumber(text.slice(from, to))
}
