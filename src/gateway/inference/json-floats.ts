/*
 * Numbers of JSON as 32-bit floats, without a string or an object for each. What `JSON.parse` would refuse is refused, and
 * each float has the bits that it would have had.
 */

const OPEN = 0x5b
const CLOSE = 0x5d
const COMMA = 0x2c
const DASH = 0x2d
const PLUS = 0x2b
const DOT = 0x2e
const ZERO = 0x30
const SMALL_E = 0x65
/** Set in the codes of small letters. */
const SMALL = 0x20

/** Powers of ten that a double holds exactly. */
const EXACT_POWERS = Float64Array.from({ length: 23 }, (_, power) => Number(`1e${power}`))
/** Digits of which every number is a double. */
const EXACT_DIGITS = 15
/** Digits up to which a sum of digits is off by a few units in the last place at most. */
const MOST_DIGITS = 19
/** Bound of the relative error of a value of so many digits, far above the real one. */
const ERROR = 2 ** -46

/** Reads one list of numbers after the other into floats. Not reentrant. */
export class FloatsReader {
  private bytes: Uint8Array = new Uint8Array(0)
  private at = 0
  /** The number that was read last. */
  private value = 0

  /**
   * Reads the list, which may hold lists, whose `[` is before `from`. Returns the index of its `]`, or -1 unless it is one of
   * exactly `target.length` numbers.
   */
  read(bytes: Uint8Array, from: number, target: Float32Array): number {
    this.bytes = bytes
    this.at = from
    let count = 0
    let depth = 1
    for (;;) {
      while (this.afterSpace() === OPEN) {
        depth++
        this.at++
      }
      if (count === target.length || !this.readNumber()) return -1
      target[count++] = this.value
      while (this.afterSpace() === CLOSE) {
        if (--depth === 0) return count === target.length ? this.at : -1
        this.at++
      }
      if (bytes[this.at++] !== COMMA) return -1
    }
  }

  /** The next byte that is no white space of JSON. */
  private afterSpace(): number | undefined {
    const { bytes } = this
    let byte = bytes[this.at]
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = bytes[++this.at]
    return byte
  }

  /** Reads the number that begins here; false when there is none. */
  private readNumber(): boolean {
    const { bytes } = this
    const start = this.at
    const isNegative = bytes[start] === DASH
    if (isNegative) this.at++
    const wholeAt = this.at
    let digits = this.sumDigits(0)
    const wholes = this.at - wholeAt
    if (wholes === 0 || (wholes > 1 && bytes[wholeAt] === ZERO)) return false
    let decimals = 0
    if (bytes[this.at] === DOT) {
      const fractionAt = ++this.at
      digits = this.sumDigits(digits)
      decimals = this.at - fractionAt
      if (decimals === 0) return false
    }
    const exponent = (bytes[this.at]! | SMALL) === SMALL_E ? this.readExponent() : 0
    if (Number.isNaN(exponent)) return false
    const float = floatOf(digits, wholes + decimals, exponent - decimals)
    if (Number.isNaN(float)) this.value = Number(this.text(start))
    else this.value = isNegative ? -float : float
    return true
  }

  /** Puts the digits that follow behind a number. */
  private sumDigits(before: number): number {
    const { bytes } = this
    let { at } = this
    let sum = before
    for (let digit = bytes[at]! - ZERO; digit >= 0 && digit <= 9; digit = bytes[++at]! - ZERO) {
      sum = sum * 10 + digit
    }
    this.at = at
    return sum
  }

  /** The exponent that begins here with its `e`; NaN when it has no digits. */
  private readExponent(): number {
    const sign = this.bytes[++this.at]
    if (sign === DASH || sign === PLUS) this.at++
    const digitsAt = this.at
    const exponent = this.sumDigits(0)
    if (this.at === digitsAt) return Number.NaN
    return sign === DASH ? -exponent : exponent
  }

  private text(start: number): string {
    const { buffer, byteOffset } = this.bytes
    return Buffer.from(buffer, byteOffset + start, this.at - start).toString('latin1')
  }
}

/**
 * The 32-bit float nearest to the double nearest to `digits` x 10^`power`, where `digits` was summed from `count` digits; NaN
 * where this does not show it. A product or quotient of two exact numbers is the nearest double (Clinger, "How to read
 * floating point numbers accurately", 1990); of more digits it is off by little, and all doubles nearby mostly round to one
 * float.
 */
function floatOf(digits: number, count: number, power: number): number {
  if (count > MOST_DIGITS || power < -22 || power > 22) return Number.NaN
  const double = power < 0 ? digits / EXACT_POWERS[-power]! : digits * EXACT_POWERS[power]!
  const float = Math.fround(double)
  if (count <= EXACT_DIGITS) return float
  const isSure =
    Math.fround(double * (1 - ERROR)) === float && Math.fround(double * (1 + ERROR)) === float
  return isSure ? float : Number.NaN
}
