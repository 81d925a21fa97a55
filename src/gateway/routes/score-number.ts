/** Nine significant digits are enough to give back every float32. */
const DIGITS = 9
const SMALLEST = 1e-4
const LARGEST = 1e8
const POWERS = Float64Array.from({ length: DIGITS + 4 }, (_, i) => 10 ** i)
const ZERO = 0x30
const MINUS = 0x2d
const POINT = 0x2e

/**
 * A score (float32) as a number of at most nine significant digits that rounds to the same float32: JSON
 * of it is half as long as that of the float's exact value. Scores below 1e-4 and from 1e8, NaN and the
 * infinities stay.
 */
export function scoreNumber(score: number): number {
  const magnitude = Math.abs(score)
  const decimals = decimalsOf(magnitude)
  if (decimals < 0) return score
  const power = POWERS[decimals]!
  const rounded = Math.round(magnitude * power) / power
  return score < 0 ? -rounded : rounded
}

/** The JSON of a score: of `scoreNumber`, and `null` for NaN and the infinities. */
export function scoreText(score: number): string {
  return Number.isFinite(score) ? String(scoreNumber(score)) : 'null'
}

/** Longest text that `writeScore` writes, in bytes. */
export const SCORE_TEXT_BYTES = 32

/** Writes the bytes of `scoreText` at `at`; returns where they end. */
export function writeScore(bytes: Uint8Array, at: number, score: number): number {
  const magnitude = Math.abs(score)
  let decimals = decimalsOf(magnitude)
  if (decimals < 0) return writeText(bytes, at, scoreText(score))
  const power = POWERS[decimals]!
  const all = Math.round(magnitude * power)
  const whole = Math.floor(all / power)
  // At most nine digits: an int32, whose division by ten is a multiplication.
  let fraction = (all - whole * power) | 0
  let end = at
  if (score < 0) bytes[end++] = MINUS
  end = writeWhole(bytes, end, whole)
  if (fraction === 0) return end
  while (fraction % 10 === 0) {
    fraction = (fraction / 10) | 0
    decimals -= 1
  }
  bytes[end] = POINT
  for (let i = end + decimals; i > end; i--) {
    const rest = (fraction / 10) | 0
    bytes[i] = ZERO + fraction - rest * 10
    fraction = rest
  }
  return end + 1 + decimals
}

function writeWhole(bytes: Uint8Array, at: number, whole: number): number {
  if (whole < 10) {
    bytes[at] = ZERO + whole
    return at + 1
  }
  let length = 1
  for (let bound = 10; bound <= whole; bound *= 10) length += 1
  let left = whole | 0
  for (let i = at + length - 1; i >= at; i--) {
    const rest = (left / 10) | 0
    bytes[i] = ZERO + left - rest * 10
    left = rest
  }
  return at + length
}

function writeText(bytes: Uint8Array, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i)
  return at + text.length
}

/** Decimals with which a magnitude has nine significant digits; -1 outside of the usual range. */
function decimalsOf(magnitude: number): number {
  if (!(magnitude >= SMALLEST && magnitude < LARGEST)) return -1
  let decimals = DIGITS - 1
  for (let bound = 10; magnitude >= bound; bound *= 10) decimals -= 1
  for (let scaled = magnitude; scaled < 1; scaled *= 10) decimals += 1
  return decimals
}
