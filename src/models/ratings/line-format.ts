import type { ByteReader } from '../../core/byte-reader.ts'
import type { ByteWriter } from '../../core/byte-writer.ts'
import { requireArgument, WeirError } from '../../core/errors.ts'
import { formatCsvField } from '../../core/formats/csv-row.ts'
import { checkArgument } from '../../core/options/shape.ts'
import type { Serializer } from '../../core/serializer.ts'
import { writeShortText } from '../../core/text/short-text.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { isMeanId, MEAN_ID_IS_TAKEN } from '../mean-id.ts'
import { RATINGS_FORMAT, type RatingsFormat, SEPARATORS } from './format.ts'
import { type PlainRating, RatingLineReader } from './line-reader.ts'
import { LARGEST_RATING, type Rating } from './rating.ts'
import { BLANKS, isRefused, type RefusedLine } from './rating-fields.ts'
import { TIMES_END_MS } from './rating-time.ts'

/** Ratings as lines; `read` throws UNPARSABLE_RECORD. */
export interface RatingLineSerializer extends Serializer<Rating>, PlainRating {
  /**
   * Reads the line between two positions, without its line end, into the fields of this object, without making texts of
   * the ids. False for a line that is no rating, and for one that is not plain: only `outcome` says which.
   */
  readPlain(bytes: Uint8Array, start: number, end: number): boolean
  /** The rating of the line between two positions, or why it is none. */
  outcome(bytes: Uint8Array, start: number, end: number): Rating | RefusedLine
}

/**
 * One rating as a line of a MovieLens format: `user,item,rating` and, if known, Unix seconds. A line end
 * is accepted, and all else that a line of a file may have (`RatingLineReader`).
 */
class RatingLineFormat extends RatingLineReader implements RatingLineSerializer {
  readonly id: string
  private readonly isCsv: boolean

  constructor(format: RatingsFormat = 'csv') {
    super({ separator: SEPARATORS[format] })
    this.id = `rating-line-${format}/1`
    this.isCsv = format === 'csv' || format === 'semicolon'
  }

  write({ user, item, rating, timestamp }: Rating, writer: ByteWriter): void {
    if (!(Math.abs(rating) <= LARGEST_RATING)) {
      throw new WeirError('INVALID_ARGUMENT', `a rating of ${rating}`)
    }
    if (timestamp !== NO_TIMESTAMP && !(timestamp >= 0 && timestamp < TIMES_END_MS)) {
      throw new WeirError('INVALID_ARGUMENT', `a time of ${timestamp} ms since 1970`)
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
    if (id === '' || !id.isWellFormed() || /[\r\n\0]/.test(id) || !(isBare || this.isCsv)) {
      const message = `the id "${id}" cannot be written in a line of ratings`
      throw new WeirError('INVALID_ARGUMENT', message)
    }
    const text = isBare ? id : formatCsvField({ text: id, quoted: true }, this.layout.separator)
    writeShortText(text, writer)
    this.writeSeparator(writer)
  }

  /** Whether the id is read back without quotes. */
  private canStandBare(id: string): boolean {
    const { separator } = this.layout
    if (id.includes(separator.charAt(0)) || id.trim().length !== id.length) return false
    if (separator === BLANKS && id.includes('\t')) return false
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
}

/** Format of ratings as lines (`RatingLineFormat`). */
export function ratingLineFormat(format: RatingsFormat = 'csv'): RatingLineSerializer {
  checkArgument('ratingLineFormat', 'format', RATINGS_FORMAT, format)
  return new RatingLineFormat(format)
}
