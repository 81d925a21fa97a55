import { decimalNumber } from '../text/decimal-number.ts'

const SPACE = 0x20
const TAB = 0x09
const PLUS = 0x2b
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
/** What a query id begins with. */
const QUERY_ID = new TextEncoder().encode('qid:')

/** Number of digits that a float64 holds exactly, and the powers of ten that it holds exactly. */
const EXACT_DIGITS = 15
/** A longer text is no number that anyone wrote, and too long for one call of `String.fromCharCode`. */
const LONGEST_NUMBER = 1000
const POWERS_OF_TEN = Float64Array.from({ length: 23 }, (_, i) => Number(`1e${i}`))

/** Whether a byte stands between the words of a line. */
export const isBlank = (byte: number): boolean => byte === SPACE || byte === TAB

/** A place in the bytes of lines of examples. */
export class LineCursor {
  bytes: Uint8Array = new Uint8Array(0)
  at = 0

  skipBlanks(end: number): void {
    while (this.at < end && isBlank(this.bytes[this.at] as number)) this.at++
  }

  /** Passes the query id of ranking data. */
  skipQueryId(end: number): void {
    if (QUERY_ID.some((byte, i) => this.bytes[this.at + i] !== byte)) return
    while (this.at < end && !isBlank(this.bytes[this.at]!)) this.at++
  }

  /** The number up to `stop` (a colon, or with a space any blank); NaN if there is none. */
  number(end: number, stop: number = SPACE): number {
    const { bytes } = this
    const start = this.at
    let at = start
    const sign = bytes[at] === MINUS ? -1 : 1
    if (bytes[at] === MINUS || bytes[at] === PLUS) at++
    let mantissa = 0
    let digits = 0
    let decimals = 0
    let plain = true
    let pointSeen = false
    for (; at < end; at++) {
      const byte = bytes[at] as number
      if (byte === stop || (stop === SPACE && isBlank(byte))) break
      const digit = byte - ZERO
      if (digit >= 0 && digit <= 9) {
        mantissa = mantissa * 10 + digit
        digits++
        if (pointSeen) decimals++
      } else if (byte === POINT && !pointSeen) pointSeen = true
      else plain = false
    }
    this.at = at
    // Both operands are exact: one correctly rounded division gives the nearest number.
    if (plain && digits > 0 && digits <= EXACT_DIGITS) {
      return (sign * mantissa) / (POWERS_OF_TEN[decimals] as number)
    }
    return at - start > LONGEST_NUMBER ? Number.NaN : decimalNumber(asciiText(bytes, start, at))
  }
}

/** Bytes as a text in which each byte is one character. */
export function asciiText(bytes: Uint8Array, from: number, to: number): string {
  return String.fromCharCode(...bytes.subarray(from, to))
}
