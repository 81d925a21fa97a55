import { WeirError } from '../core/errors.ts'
import { NO_TIMESTAMP } from '../core/time.ts'
import type { Rating } from './rating.ts'

/**
 * MovieLens' three text formats, one rating a line; the timestamp (Unix seconds) may be missing.
 *
 *   tab            `user<TAB>item<TAB>rating<TAB>seconds`     u.data, u1.base
 *   double-colon   `user::item::rating::seconds`              ratings.dat
 *   csv            header `userId,movieId,rating,timestamp`   ratings.csv; a first line without a
 *                  number in the rating's place is taken for the header whatever it says
 */
export type RatingsFormat = 'tab' | 'double-colon' | 'csv'

const SEPARATORS: Readonly<Record<RatingsFormat, string>> = {
  tab: '\t',
  'double-colon': '::',
  csv: ',',
}

/** What to do with a line that holds no rating. */
export type BadLines = 'fail' | 'count'

/** Takes one rating; the argument form spares an object per line. */
export type RatingSink = (user: string, item: string, rating: number, timestamp: number) => void

/** Options of the parser. */
export interface RatingsParserOptions {
  /** @default detected from the first line */
  readonly format?: RatingsFormat
  /** @default 'fail' */
  readonly badLines?: BadLines
}

/** The format that a first line shows. Throws UNPARSABLE_RECORD if it shows none. */
export function detectRatingsFormat(firstLine: string): RatingsFormat {
  if (firstLine.includes('::')) return 'double-colon'
  if (firstLine.includes('\t')) return 'tab'
  if (firstLine.includes(',')) return 'csv'
  throw new WeirError(
    'UNPARSABLE_RECORD',
    'line 1 of the ratings: no tab, "::" or comma; give user, item, rating and, if known, Unix seconds',
    { details: { line: 1 } },
  )
}

/**
 * Streaming parser: push chunks of bytes in any sizes, then `end`. Line ends are LF or CRLF; empty
 * lines are skipped. A bad line throws UNPARSABLE_RECORD with its line number, or is counted.
 */
export class RatingsParser {
  private readonly decoder = new TextDecoder()
  private readonly sink: RatingSink
  private readonly badLines: BadLines
  private separator: string | undefined
  private rest = ''
  private line = 0
  private bad = 0

  constructor(sink: RatingSink, options: RatingsParserOptions = {}) {
    this.sink = sink
    this.badLines = options.badLines ?? 'fail'
    this.separator = options.format === undefined ? undefined : SEPARATORS[options.format]
  }

  /** Lines seen so far. */
  get lineCount(): number {
    return this.line
  }

  /** Lines left out so far, because `badLines` is 'count'. */
  get badLineCount(): number {
    return this.bad
  }

  /** Parses all lines that end inside this chunk. */
  push(chunk: Uint8Array): void {
    this.parse(this.rest + this.decoder.decode(chunk, { stream: true }))
  }

  /** Parses what is left after the last line end. */
  end(): void {
    const last = this.rest + this.decoder.decode()
    if (last !== '') this.parse(`${last}\n`)
  }

  private parse(text: string): void {
    let from = 0
    for (;;) {
      const to = text.indexOf('\n', from)
      if (to < 0) break
      this.parseLine(text, from, text.charCodeAt(to - 1) === 13 && to > from ? to - 1 : to)
      from = to + 1
    }
    this.rest = text.slice(from)
  }

  private parseLine(text: string, from: number, to: number): void {
    this.line++
    if (to === from) return
    this.separator ??= SEPARATORS[detectRatingsFormat(text.slice(from, to))]
    const width = this.separator.length
    const first = text.indexOf(this.separator, from)
    const second = first < 0 ? -1 : text.indexOf(this.separator, first + width)
    if (first <= from || second < 0 || second >= to || second === first + width) {
      this.reject(text.slice(from, to), 'user, item and rating')
      return
    }
    const third = text.indexOf(this.separator, second + width)
    const ratingEnd = third < 0 || third >= to ? to : third
    const rating = numberIn(text, second + width, ratingEnd)
    const seconds = ratingEnd === to ? 0 : numberIn(text, ratingEnd + width, to)
    if (!Number.isFinite(rating) || !Number.isFinite(seconds)) {
      // Only a csv has a header, and only in its first line.
      if (this.line > 1 || this.separator !== ',') {
        this.reject(text.slice(from, to), 'a number as rating and as time')
      }
      return
    }
    const timestamp = ratingEnd === to ? NO_TIMESTAMP : seconds * 1000
    this.sink(text.slice(from, first), text.slice(first + width, second), rating, timestamp)
  }

  private reject(text: string, expected: string): void {
    if (this.badLines === 'count') {
      this.bad++
      return
    }
    throw new WeirError(
      'UNPARSABLE_RECORD',
      `line ${this.line} of the ratings, "${text.slice(0, 60)}": expected ${expected}; ` +
        'mend the line or count bad lines instead of failing',
      { details: { line: this.line } },
    )
  }
}

/** The number between two positions, NaN if there is none. */
function numberIn(text: string, from: number, to: number): number {
  if (to - from === 1) {
    const digit = text.charCodeAt(from) - 48
    return digit >= 0 && digit <= 9 ? digit : Number.NaN
  }
  const part = text.slice(from, to).trim()
  return part === '' ? Number.NaN : Number(part)
}

/** One rating as a line of `format`, without line end; the time is cut to whole seconds. */
export function formatRating(rating: Rating, format: RatingsFormat): string {
  const separator = SEPARATORS[format]
  const fields = [rating.user, rating.item, String(rating.rating)]
  if (rating.timestamp !== NO_TIMESTAMP) fields.push(String(Math.floor(rating.timestamp / 1000)))
  return fields.join(separator)
}

/** Header line of the csv format. */
export const RATINGS_CSV_HEADER = 'userId,movieId,rating,timestamp'
