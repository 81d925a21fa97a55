import type { ByteReader } from '../../core/byte-reader.ts'
import type { ByteWriter } from '../../core/byte-writer.ts'
import { requireArgument, WeirError } from '../../core/errors.ts'
import type { Serializer } from '../../core/serializer.ts'
import { shortText, writeShortText } from '../../core/text/short-text.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { isMeanId, MEAN_ID_IS_TAKEN } from '../mean-id.ts'
import type { RatingsFormat } from './format.ts'
import { LARGEST_RATING, type Rating } from './rating.ts'

const SEPARATOR_BYTES: Readonly<Record<RatingsFormat, readonly number[]>> = {
  tab: [0x09],
  'double-colon': [0x3a, 0x3a],
  csv: [0x2c],
  semicolon: [0x3b],
}
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const POINT = 0x2e
const ZERO = 0x30
/** Number of digits that a double holds exactly, and the powers of ten up to it. */
const EXACT_DIGITS = 15
const POWERS_OF_TEN = Float64Array.from({ length: EXACT_DIGITS + 1 }, (_, i) => 10 ** i)

/**
 * One rating as a line of a MovieLens format: `user,item,rating` and, if known, Unix seconds. A line end
 * is accepted. Reads the bytes in one pass without making a string of the line.
 */
class RatingLineFormat implements Serializer<Rating> {
  readonly id: string
  private readonly first: number
  private readonly width: number
  private bytes: Uint8Array = new Uint8Array(0)
  /** Start of the current field, and the position from which its end is searched. */
  private at = 0
  private end = 0
  private hasMore = false

  constructor(format: RatingsFormat = 'csv') {
    this.id = `rating-line-${format}/1`
    const separator = SEPARATOR_BYTES[format]
    this.first = separator[0]!
    this.width = separator.length
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
    if (!this.canStand(id)) {
      const message = `the id "${id}" cannot be written in a line of ratings`
      throw new WeirError('INVALID_ARGUMENT', message)
    }
    writeShortText(id, writer)
    this.writeSeparator(writer)
  }

  private writeSeparator(writer: ByteWriter): void {
    for (let i = 0; i < this.width; i++) writer.uint8(this.first)
  }

  private canStand(id: string): boolean {
    const { first } = this
    for (let i = 0; i < id.length; i++) {
      const code = id.charCodeAt(i)
      if (code === first || code === LINE_FEED || code === CARRIAGE_RETURN) return false
    }
    return id !== '' && id.isWellFormed()
  }

  read(reader: ByteReader): Rating {
    this.bytes = reader.bytes
    this.at = reader.position
    this.end = this.lineEnd(reader.position, reader.end)
    this.hasMore = this.end > this.at
    const user = this.text('the user')
    const item = this.text('the item')
    const rating = this.number('the rating')
    if (Math.abs(rating) > LARGEST_RATING) throw refused(`the rating is above ${LARGEST_RATING}`)
    const seconds = this.hasMore ? this.number('the time') : Number.NaN
    if (this.hasMore) throw refused('more than four fields')
    reader.position = reader.end
    return { user, item, rating, timestamp: Number.isNaN(seconds) ? NO_TIMESTAMP : seconds * 1000 }
  }

  private lineEnd(start: number, end: number): number {
    if (end === start || this.bytes[end - 1] !== LINE_FEED) return end
    return end - 1 > start && this.bytes[end - 2] === CARRIAGE_RETURN ? end - 2 : end - 1
  }

  /** End of the field that begins at `at`; moves `at` behind the separator. */
  private next(): number {
    const { bytes, end, first, width } = this
    for (let to = this.at; to < end; to++) {
      if (bytes[to] !== first || (width === 2 && (to + 1 >= end || bytes[to + 1] !== first)))
        continue
      this.at = to + width
      return to
    }
    this.at = end
    this.hasMore = false
    return end
  }

  private text(what: string): string {
    const from = this.at
    const to = this.next()
    if (to === from || !this.hasMore) throw refused(`${what} is missing`)
    const id = textIn(this.bytes, from, to, what)
    if (isMeanId(id)) throw refused(MEAN_ID_IS_TAKEN)
    return id
  }

  private number(what: string): number {
    const from = this.at
    const to = this.next()
    const { bytes } = this
    let mantissa = 0
    let decimals = -1
    for (let i = from; i < to; i++) {
      const digit = bytes[i]! - ZERO
      if (digit >= 0 && digit <= 9) {
        mantissa = mantissa * 10 + digit
        if (decimals >= 0) decimals += 1
      } else if (digit === POINT - ZERO && decimals < 0) decimals = 0
      else return slowNumber(bytes, from, to, what)
    }
    const plain = to > from && to - from <= EXACT_DIGITS && !(decimals === 0 && to - from === 1)
    if (!plain) return slowNumber(bytes, from, to, what)
    // Both operands are exact: one correctly rounded division gives the nearest number.
    return decimals > 0 ? mantissa / POWERS_OF_TEN[decimals]! : mantissa
  }
}

function slowNumber(bytes: Uint8Array, from: number, to: number, what: string): number {
  const text = textIn(bytes, from, to, what).trim()
  const value = text === '' ? Number.NaN : Number(text)
  if (Number.isFinite(value)) return value
  throw refused(`${what} "${text.slice(0, 40)}" is not a number`)
}

function textIn(bytes: Uint8Array, from: number, to: number, what: string): string {
  try {
    return shortText(bytes, from, to)
  } catch (cause) {
    throw new WeirError('UNPARSABLE_RECORD', `not a rating: ${what} is not UTF-8`, { cause })
  }
}

function refused(problem: string): WeirError {
  return new WeirError(
    'UNPARSABLE_RECORD',
    `not a rating: ${problem}; write user, item, rating and, if known, Unix seconds`,
  )
}

/** Format of ratings as lines (`RatingLineFormat`). */
export function ratingLineFormat(format: RatingsFormat = 'csv'): Serializer<Rating> {
  return new RatingLineFormat(format)
}
