import { type Clock, systemClock } from '../../core/clock.ts'
import { plainNumber } from '../../core/text/decimal-number.ts'
import { latin1Of } from '../../core/text/latin1.ts'
import { shortAscii } from '../../core/text/short-text.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { MEAN_ID } from '../mean-id.ts'
import { USUAL_COLUMNS } from './columns.ts'
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
const QUOTE = 0x22
const SPACE = 0x20
const ASCII_END = 0x80
/** Lines of more fields are read as text. */
const MOST_FIELDS = 64

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
 * ASCII without blanks and quotes: they are read in one pass over their bytes, and the rating is in the fields of the
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
  private readonly mostFields: number
  /** Whether blanks that follow each other are one separator. */
  private readonly isOfBlanks: boolean
  private readonly starts = new Uint32Array(MOST_FIELDS)
  private readonly ends = new Uint32Array(MOST_FIELDS)

  constructor(layout: RatingLayout, clock: Pick<Clock, 'nowMs'> = systemClock) {
    this.layout = layout
    this.latest = new LatestTime(clock)
    this.first = layout.separator.charCodeAt(0)
    this.width = layout.separator.length
    this.isOfBlanks = layout.separator === BLANKS
    this.mostFields = layout.columns === undefined ? USUAL_FIELDS : MOST_FIELDS
  }

  /** The rating of the line between two positions, with or without its line end, or why it is none. */
  outcome(bytes: Uint8Array, start: number, end: number): Rating | RefusedLine {
    if (!this.readPlain(bytes, start, lineEnd(bytes, start, end))) {
      return this.outcomeOfText(bytes, start, end)
    }
    const { rating, timestamp } = this
    return { user: this.userOf(bytes), item: this.itemOf(bytes), rating, timestamp }
  }

  /** The user of the last plain line, which stands in these bytes. */
  userOf(bytes: Uint8Array): string {
    return asciiText(bytes, this.userStart, this.userEnd)
  }

  /** The item of the last plain line, which stands in these bytes. */
  itemOf(bytes: Uint8Array): string {
    return asciiText(bytes, this.itemStart, this.itemEnd)
  }

  /** Reads a line without its line end; false for one that is not plain, and for one that is no rating. */
  readPlain(bytes: Uint8Array, start: number, end: number): boolean {
    const { columns = USUAL_COLUMNS } = this.layout
    const fields = this.split(bytes, start, end)
    if (columns.user >= fields || columns.item >= fields) return false
    const { starts, ends } = this
    this.userStart = starts[columns.user]!
    this.userEnd = ends[columns.user]!
    this.itemStart = starts[columns.item]!
    this.itemEnd = ends[columns.item]!
    this.rating = this.valueOf(bytes, fields)
    this.timestamp = this.timeOf(bytes, fields, columns.time)
    return (
      isPlainId(bytes, this.userStart, this.userEnd) &&
      isPlainId(bytes, this.itemStart, this.itemEnd) &&
      !Number.isNaN(this.rating + this.timestamp)
    )
  }

  /** Notes where the fields stand; their number, 0 for a line that is not plain. */
  private split(bytes: Uint8Array, start: number, end: number): number {
    const { starts, ends, first, width, mostFields, isOfBlanks } = this
    let fields = 0
    let from = start
    for (let at = start; at < end; at++) {
      const byte = bytes[at]!
      if (byte === first && (width === 1 || (at + 1 < end && bytes[at + 1] === first))) {
        if (fields + 1 === mostFields || (isOfBlanks && at === from)) return 0
        starts[fields] = from
        ends[fields++] = at
        from = at + width
        at = from - 1
      } else if (byte <= SPACE || byte === QUOTE || byte >= ASCII_END) return 0
    }
    if (isOfBlanks && from === end) return 0
    starts[fields] = from
    ends[fields] = end
    return fields + 1
  }

  /** The rating, or what the event counts; NaN where it is not plain. */
  private valueOf(bytes: Uint8Array, fields: number): number {
    const { columns = USUAL_COLUMNS, weights } = this.layout
    const { rating, event } = columns
    const { starts, ends } = this
    if (event !== undefined) {
      if (event >= fields) return Number.NaN
      return weights?.get(asciiText(bytes, starts[event]!, ends[event]!)) ?? Number.NaN
    }
    if (rating === undefined) return 1
    return rating < fields ? plainNumber(bytes, starts[rating]!, ends[rating]!) : Number.NaN
  }

  /** The time, -1 where the line has none; NaN where it is not plain. */
  private timeOf(bytes: Uint8Array, fields: number, column: number | undefined): number {
    if (column === undefined || column >= fields) return NO_TIMESTAMP
    const time = timeOfNumber(plainNumber(bytes, this.starts[column]!, this.ends[column]!))
    return this.latest.isBefore(time) ? Number.NaN : time
  }

  private outcomeOfText(bytes: Uint8Array, start: number, end: number): Rating | RefusedLine {
    let text: string
    try {
      text = decoder.decode(bytes.subarray(start, end))
    } catch {
      return unparsable('UTF-8')
    }
    const line = text.replace(/\r?\n$/, '')
    if (!line.includes('\n')) return ratingOfLine(line, this.layout, this.latest)
    return unparsable('one rating, not several lines')
  }
}

function asciiText(bytes: Uint8Array, from: number, to: number): string {
  return shortAscii(bytes, from, to) ?? latin1Of(bytes, to - from, from)
}

/** Whether a plain field is the id of a user or an item. */
function isPlainId(bytes: Uint8Array, from: number, to: number): boolean {
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
