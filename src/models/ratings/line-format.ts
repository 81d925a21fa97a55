import type { ByteReader } from '../../core/byte-reader.ts'
import type { ByteWriter } from '../../core/byte-writer.ts'
import { requireArgument, WeirError } from '../../core/errors.ts'
import { formatCsvField } from '../../core/formats/csv-row.ts'
import { checkArgument } from '../../core/options/shape.ts'
import type { Serializer } from '../../core/serializer.ts'
import { plainNumber } from '../../core/text/decimal-number.ts'
import { shortText, writeShortText } from '../../core/text/short-text.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { isMeanId, MEAN_ID_IS_TAKEN } from '../mean-id.ts'
import { RATINGS_FORMAT, type RatingsFormat, SEPARATORS } from './format.ts'
import { LARGEST_RATING, type Rating } from './rating.ts'
import { isRefused, type RefusedLine, ratingOfLine } from './rating-fields.ts'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const QUOTE = 0x22
const SPACE = 0x20
const ASCII_END = 0x80

/** A byte order mark is no part of a line. */
const decoder = new TextDecoder('utf-8', { fatal: true })

/** Ratings as lines; `read` throws UNPARSABLE_RECORD. */
export interface RatingLineSerializer extends Serializer<Rating> {
  /** The rating of the line between two positions, or why it is none. */
  outcome(bytes: Uint8Array, start: number, end: number): Rating | RefusedLine
}

/**
 * One rating as a line of a MovieLens format: `user,item,rating` and, if known, Unix seconds. A line end
 * is accepted, and all else that a line of a file may have (`ratingOfLine`). Plain lines are read in one pass
 * over their bytes, without making a string of the line.
 */
class RatingLineFormat implements RatingLineSerializer {
  readonly id: string
  private readonly separator: string
  private readonly isCsv: boolean
  private readonly first: number
  private readonly width: number
  private bytes: Uint8Array = new Uint8Array(0)
  /** Start of the current field, and the end of the line. */
  private at = 0
  private end = 0
  private hasMore = false
  /** Whether the last field has only ASCII without blanks and quotes. */
  private isPlain = true

  constructor(format: RatingsFormat = 'csv') {
    this.id = `rating-line-${format}/1`
    this.separator = SEPARATORS[format]
    this.isCsv = format === 'csv' || format === 'semicolon'
    this.first = this.separator.charCodeAt(0)
    this.width = this.separator.length
  }

  write({ user, item, rating, timestamp }: Rating, writer: ByteWriter): void {
    if (!(Math.abs(rating) <= LARGEST_RATING)) {
      throw new WeirError('INVALID_ARGUMENT', `a rating of ${rating}`)
    }
    this.writeId(user, writer)
    this.writeId(item, writer)
    writeShortText(String(rating), writer)
    if (timestamp === NO_TIMESTAMP) return
    this.writeSeparator(writer)
    writeShortText(String(Math.floor(timestamp / 1000)), writer)
  }

  private writeId(id: string, writer: ByteWriter): void {
    requireArgument(!isMeanId(id), MEAN_ID_IS_TAKEN)
    const isBare = this.canStandBare(id)
    if (id === '' || !id.isWellFormed() || /[\r\n]/.test(id) || !(isBare || this.isCsv)) {
      const message = `the id "${id}" cannot be written in a line of ratings`
      throw new WeirError('INVALID_ARGUMENT', message)
    }
    const text = isBare ? id : formatCsvField({ text: id, quoted: true }, this.separator)
    writeShortText(text, writer)
    this.writeSeparator(writer)
  }

  /** Whether the id is read back without quotes. */
  private canStandBare(id: string): boolean {
    if (id.includes(this.separator.charAt(0)) || id.trim().length !== id.length) return false
    return !(this.isCsv && id.includes('"'))
  }

  private writeSeparator(writer: ByteWriter): void {
    for (let i = 0; i < this.width; i++) writer.uint8(this.first)
  }

  read(reader: ByteReader): Rating {
    const { bytes, position, end } = reader
    reader.position = end
    const rating = this.outcome(bytes, position, end)
    if (!isRefused(rating)) return rating
    throw new WeirError(
      'UNPARSABLE_RECORD',
      `not a rating: expected ${rating.expected}; write user, item, rating and, if known, Unix seconds`,
    )
  }

  outcome(bytes: Uint8Array, start: number, end: number): Rating | RefusedLine {
    return this.readPlain(bytes, start, end) ?? this.readAny(bytes, start, end)
  }

  private readAny(bytes: Uint8Array, start: number, end: number): Rating | RefusedLine {
    let text: string
    try {
      text = decoder.decode(bytes.subarray(start, end))
    } catch {
      return { reason: 'unparsable', expected: 'UTF-8' }
    }
    const line = text.replace(/\r?\n$/, '')
    if (!line.includes('\n')) return ratingOfLine(line, this.separator)
    return { reason: 'unparsable', expected: 'one rating, not several lines' }
  }

  /** The rating of a line of plain fields; undefined for every other line. */
  private readPlain(bytes: Uint8Array, start: number, end: number): Rating | undefined {
    this.bytes = bytes
    this.at = start
    this.end = this.lineEnd(start, end)
    this.hasMore = this.end > this.at
    const user = this.plainId()
    const item = user === undefined ? undefined : this.plainId()
    if (user === undefined || item === undefined) return undefined
    const rating = this.plainNumber()
    if (Number.isNaN(rating)) return undefined
    if (!this.hasMore) return { user, item, rating, timestamp: NO_TIMESTAMP }
    const seconds = this.plainNumber()
    if (Number.isNaN(seconds) || this.hasMore) return undefined
    return { user, item, rating, timestamp: seconds * 1000 }
  }

  private lineEnd(start: number, end: number): number {
    if (end === start || this.bytes[end - 1] !== LINE_FEED) return end
    return end - 1 > start && this.bytes[end - 2] === CARRIAGE_RETURN ? end - 2 : end - 1
  }

  /** End of the field that begins at `at`; moves `at` behind the separator. */
  private next(): number {
    const { bytes, end, first, width } = this
    this.isPlain = true
    for (let to = this.at; to < end; to++) {
      const byte = bytes[to]!
      if (byte === first && (width === 1 || (to + 1 < end && bytes[to + 1] === first))) {
        this.at = to + width
        return to
      }
      if (byte <= SPACE || byte === QUOTE || byte >= ASCII_END) this.isPlain = false
    }
    this.at = end
    this.hasMore = false
    return end
  }

  private plainId(): string | undefined {
    const from = this.at
    const to = this.next()
    if (to === from || !this.hasMore || !this.isPlain) return undefined
    const id = shortText(this.bytes, from, to)
    return isMeanId(id) ? undefined : id
  }

  private plainNumber(): number {
    const from = this.at
    return plainNumber(this.bytes, from, this.next())
  }
}

/** Format of ratings as lines (`RatingLineFormat`). */
export function ratingLineFormat(format: RatingsFormat = 'csv'): RatingLineSerializer {
  checkArgument('ratingLineFormat', 'format', RATINGS_FORMAT, format)
  return new RatingLineFormat(format)
}
