/** Letters after a leading 0 that begin a number of another base: x, o and b. */
const OTHER_BASES = new Set([0x78, 0x6f, 0x62])
const LOWER_CASE = 0x20
const POINT = 0x2e
const ZERO = 0x30
/** Number of digits that a double holds exactly, and the powers of ten up to it. */
const EXACT_DIGITS = 15
const POWERS_OF_TEN = Float64Array.from({ length: EXACT_DIGITS + 1 }, (_, i) => 10 ** i)

/**
 * The number of a decimal text, blanks around it or not: `4`, `-0.5`, `1e-3`. NaN for every other text, also the
 * empty one, `0x3` and `Infinity`.
 */
export function decimalNumber(text: string): number {
  const trimmed = text.trim()
  if (trimmed === '' || OTHER_BASES.has(trimmed.charCodeAt(1) | LOWER_CASE)) return Number.NaN
  const value = Number(trimmed)
  return Number.isFinite(value) ? value : Number.NaN
}

/** The number of digits, with a point or without, between two positions; NaN for every other text, decimal or not. */
export function plainNumber(bytes: Uint8Array, from: number, to: number): number {
  let mantissa = 0
  let decimals = -1
  for (let i = from; i < to; i++) {
    const digit = bytes[i]! - ZERO
    if (digit >= 0 && digit <= 9) {
      mantissa = mantissa * 10 + digit
      if (decimals >= 0) decimals += 1
    } else if (digit === POINT - ZERO && decimals < 0) decimals = 0
    else return Number.NaN
  }
  const length = to - from
  if (length < 1 || length > EXACT_DIGITS || (decimals === 0 && length === 1)) return Number.NaN
  // Both operands are exact: one correctly rounded division gives the nearest number.
  return decimals > 0 ? mantissa / POWERS_OF_TEN[decimals]! : mantissa
}
