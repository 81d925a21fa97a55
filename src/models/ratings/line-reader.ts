import { type Clock, systemClock } from '../../core/clock.ts'
import { plainNumber } from '../../core/text/decimal-number.ts'
import { knownUtf8, shortAscii } from '../../core/text/short-text.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { MEAN_ID } from '../mean-id.ts'
import { type RatingColumns, USUAL_COLUMNS } from './columns.ts'
import type { Rating } from './rating.ts'
import {
  BLANKS,
  type RatingLayout,
  type RefusedLine,
  ratingOfLine,
  USUAL_FIELDS,
  unparsable,
} from './rating-fields.ts'
import { LatestTime, timeOfNumber } from './rating-time.ts'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
/** Lines of more fields are read as text. */
const MOST_FIELDS = 64

/** What a byte is in a plain line. */
const PLAIN = 0
const SEPARATOR = 1
const OTHER = 2

const ASCII_END = 0x80

/** The kinds of all bytes; `first`: the first one of the separator. */
function kindsOf(first: number, isUtf8: boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => {
    if (byte === first) return SEPARATOR
    // Blanks, control characters and quotes.
    const isOther = byte <= 0x20 || byte === 0x22
    return isOther || (byte >= ASCII_END && !isUtf8) ? OTHER : PLAIN
  })
}

/** A byte order mark is no part of a line. */
const decoder = new TextDecoder('utf-8', { fatal: true })
const MEAN_BYTES = new TextEncoder().encode(MEAN_ID)

/** The last plain line that a reader has read. */
export interface PlainRating {
  /** Where the ids stand. */
  readonly userStart: number
  readonly userEnd: number
  readonly itemStart: number
  readonly itemEnd: number
  readonly rating: number
  /** Ms since 1970, or -1. */
  readonly timestamp: number
}

/**
 * Reads lines of ratings, for every reader of them: of files, topics and requests. Most lines are plain, their fields
 * ASCII, or UTF-8 that is known to be, without blanks and quotes: they are read in one pass over their bytes, and the rating is in the fields of the
 * reader. All others are read as text (`ratingOfLine`), which decides what a rating is.
 */
export class RatingLineReader implements PlainRating {
  userStart = 0
  userEnd = 0
  itemStart = 0
  itemEnd = 0
  rating = 0
  timestamp = NO_TIMESTAMP
  protected readonly layout: RatingLayout
  private readonly latest: LatestTime
  /** The separator: its first byte, and its length. */
  protected readonly first: number
  protected readonly width: number
  private readonly kinds: Uint8Array
  private readonly mostFields: number
  /** Whether blanks that follow each other are one separator. */
  private readonly isOfBlanks: boolean
  private readonly columns: RatingColumns
  /** Where the line begins, less a separator, then where its fields end. */
  private readonly ends = new Int32Array(MOST_FIELDS + 1)

  constructor(layout: RatingLayout, clock: Pick<Clock, 'nowMs'> = systemClock) {
    this.layout = layout
    this.columns = layout.columns ?? USUAL_COLUMNS
    this.latest = new LatestTime(clock)
    this.first = layout.separator.charCodeAt(0)
    this.width = layout.separator.length
    this.kinds = kindsOf(this.first, layout.isUtf8 === true)
    this.isOfBlanks = layout.separator === BLANKS
    this.mostFields = layout.columns === undefined ? USUAL_FIELDS : MOST_FIELDS
  }

  /** The rating of the line between two positions, with or without its line end, or why it is none. */
  outcome(bytes: Uint8Array, start: number, end: number): Rating | RefusedLine {
    if (!this.readPlain(bytes, start, lineEnd(bytes, start, end))) {
      return this.outcomeOfAny(bytes, start, end)
    }
    const { rating, timestamp } = this
    return { user: this.userOf(bytes), item: this.itemOf(bytes), rating, timestamp }
  }

  /** The rating of a line without its line end, or why it is none. */
  outcomeOfText(line: string): Rating | RefusedLine {
    return ratingOfLine(line, this.layout, this.latest)
  }

  /** The user of the last plain line, which stands in these bytes. */
  userOf(bytes: Uint8Array): string {
    return plainText(bytes, this.userStart, this.userEnd)
  }

  /** The item of the last plain line, which stands in these bytes. */
  itemOf(bytes: Uint8Array): string {
    return plainText(bytes, this.itemStart, this.itemEnd)
  }

  /** Reads a line without its line end; false for one that is not plain, and for one that is no rating. */
  readPlain(bytes: Uint8Array, start: number, end: number): boolean {
    const { user, item, time } = this.columns
    const { ends, width } = this
    const fields = this.split(bytes, start, end)
    if (user >= fields || item >= fields) return false
    const [userStart, userEnd] = [ends[user]! + width, ends[user + 1]!]
    const [itemStart, itemEnd] = [ends[item]! + width, ends[item + 1]!]
    if (!isPlainId(bytes, userStart, userEnd) || !isPlainId(bytes, itemStart, itemEnd)) return false
    this.userStart = userStart
    this.userEnd = userEnd
    this.itemStart = itemStart
    this.itemEnd = itemEnd
    const rating = this.valueOf(bytes, fields)
    const timestamp = this.timeOf(bytes, fields, time)
    this.rating = rating
    this.timestamp = timestamp
    return !Number.isNaN(rating + timestamp)
  }

  /** Notes where the fields stand; their number, 0 for a line that is not plain. */
  private split(bytes: Uint8Array, start: number, end: number): number {
    const { ends, kinds, first, width, mostFields, isOfBlanks } = this
    let fields = 0
    let from = start
    ends[0] = start - width
    for (let at = start; at < end; at++) {
      const kind = kinds[bytes[at]!]!
      if (kind === PLAIN) continue
      if (kind === OTHER) return 0
      if (width > 1 && (at + 1 === end || bytes[at + 1] !== first)) continue
      if (fields + 1 === mostFields || (isOfBlanks && at === from)) return 0
      fields++
      ends[fields] = at
      from = at + width
      at = from - 1
    }
    if (isOfBlanks && from === end) return 0
    ends[fields + 1] = end
    return fields + 1
  }

  /** The rating, or what the event counts; NaN where it is not plain. */
  private valueOf(bytes: Uint8Array, fields: number): number {
    const { rating, event } = this.columns
    if (event === undefined) return rating === undefined ? 1 : this.numberIn(bytes, fields, rating)
    if (event >= fields) return Number.NaN
    const kind = plainText(bytes, this.ends[event]! + this.width, this.ends[event + 1]!)
    return this.layout.weights?.get(kind) ?? Number.NaN
  }

  /** The time, -1 where the line has none; NaN where it is not plain. */
  private timeOf(bytes: Uint8Array, fields: number, column: number | undefined): number {
    if (column === undefined || column >= fields) return NO_TIMESTAMP
    const time = timeOfNumber(this.numberIn(bytes, fields, column))
    return this.latest.isBefore(time) ? Number.NaN : time
  }

  private numberIn(bytes: Uint8Array, fields: number, column: number): number {
    if (column >= fields) return Number.NaN
    return plainNumber(bytes, this.ends[column]! + this.width, this.ends[column + 1]!)
  }

  private outcomeOfAny(bytes: Uint8Array, start: number, end: number): Rating | RefusedLine {
    let text: string
    try {
      text = decoder.decode(bytes.subarray(start, end))
    } catch {
      return unparsable('UTF-8')
    }
    const line = text.replace(/\r?\n$/, '')
    if (!line.includes('\n')) return this.outcomeOfText(line)
    return unparsable('one rating, not several lines')
  }
}

function plainText(bytes: Uint8Array, from: number, to: number): string {
  return shortAscii(bytes, from, to) ?? knownUtf8(bytes, from, to)
}

/** Whether a plain field is the id of a user or an item. */
function isPlainId(bytes: Uint8Array, from: number, to: number): boolean {
  // Letters beyond ASCII may be blanks.
  if ((bytes[from]! | bytes[to - 1]!) >= ASCII_END) {
    const text = plainText(bytes, from, to)
    return text.trim().length === text.length
  }
  if (to - from !== MEAN_BYTES.length) return to > from
  for (let i = 0; i < MEAN_BYTES.length; i++) {
    if (bytes[from + i] !== MEAN_BYTES[i]) return true
  }
  return false
}

function lineEnd(bytes: Uint8Array, start: number, end: number): number {
  if (end === start || bytes[end - 1] !== LINE_FEED) return end
  return end - 1 > start && bytes[end - 2] === CARRIAGE_RETURN ? end - 2 : end - 1
}
