/*
 * Numbers of JSON as 32-bit floats, without an object for each: numbers of a few digits take half of the time of `JSON.parse`.
 * What that would refuse is refused, and each float has the bits that it would have had.
 */

const OPEN = 0x5b
const CLOSE = 0x5d
const COMMA = 0x2c
const DASH = 0x2d
const DOT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const SPACE = 0x20

/** Bytes of a number with any form. */
const IN_NUMBER = Uint8Array.from({ length: 256 }, (_, code) =>
  '+-.0123456789Ee'.includes(String.fromCharCode(code)) ? 1 : 0,
)
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

/** Decimals whose power of ten is a double. */
const MOST_DECIMALS = 22
const EXACT_POWERS = Float64Array.from({ length: MOST_DECIMALS + 1 }, (_, power) =>
  Number(`1e${power}`),
)
/** Digits below this take one more in 32 bits: whole numbers are summed in a third of the time of doubles. */
const ROOM = 1e8

/** The first number that is rounded to infinity. */
const BEYOND_FLOATS = 3.4028235677973366e38

/** Numbers of other forms (many digits, exponents) that are read; with more of them `JSON.parse` takes less time. */
const MOST_OTHERS = 16

/** Index behind the number that `otherNumberAt` read. */
let end = 0
/** Hash of the places of the brackets in the list that `readFloats` read. */
let nesting = 0

/** Hash of the places of the brackets in the last list that was read whole: equal for lists of equal nesting. */
export const lastNesting = (): number => nesting

const nested = (hash: number, mark: number): number => Math.imul(hash ^ mark, 0x9e3779b1)

/**
 * Reads a list, which may hold lists, whose `[` is before `from`. Returns the index of its `]`, or -1 unless it is one of
 * exactly `target.length` numbers, most of them of few digits. A quotient of two exact doubles is the double nearest to the
 * number (Clinger, "How to read floating point numbers accurately", 1990). The loop is long because it reads the numbers in
 * place: a call for each would take half as long again.
 */
export function readFloats(bytes: Uint8Array, from: number, target: Float32Array): number {
  let at = from
  let count = 0
  let depth = 1
  let others = 0
  let brackets = 0
  for (;;) {
    let byte = bytes[at]!
    while (byte <= SPACE || byte === OPEN) {
      if (byte === OPEN) {
        depth++
        brackets = nested(brackets, 2 * count + 1)
      }
      at = afterSpace(bytes, byte === OPEN ? at + 1 : at)
      byte = bytes[at]!
    }
    if (count === target.length) return -1
    const start = at
    const isNegative = byte === DASH
    if (isNegative) byte = bytes[++at]!
    const wholeAt = at
    let digits = 0
    while (byte >= ZERO && byte <= NINE && digits < ROOM) {
      digits = (Math.imul(digits, 10) + byte - ZERO) | 0
      byte = bytes[++at]!
    }
    const wholes = at - wholeAt
    let decimals = 0
    if (byte === DOT) {
      const decimalsAt = ++at
      byte = bytes[at]!
      while (byte >= ZERO && byte <= NINE && digits < ROOM) {
        digits = (Math.imul(digits, 10) + byte - ZERO) | 0
        byte = bytes[++at]!
      }
      decimals = at - decimalsAt
      if (decimals === 0 || decimals > MOST_DECIMALS) byte = DOT
    }
    const isWhole = wholes === 1 || (wholes > 0 && bytes[wholeAt] !== ZERO)
    if (isWhole && IN_NUMBER[byte] !== 1) {
      const value = digits / EXACT_POWERS[decimals]!
      target[count++] = isNegative ? -value : value
    } else {
      const value = others++ < MOST_OTHERS ? otherNumberAt(bytes, start) : Number.NaN
      if (Number.isNaN(value)) return -1
      target[count++] = value
      at = end
      byte = bytes[at]!
    }
    while (byte <= SPACE || byte === CLOSE) {
      if (byte === CLOSE) {
        brackets = nested(brackets, 2 * count)
        if (--depth === 0) {
          nesting = brackets
          return count === target.length ? at : -1
        }
      }
      at = afterSpace(bytes, byte === CLOSE ? at + 1 : at)
      byte = bytes[at]!
    }
    if (byte !== COMMA) return -1
    at++
  }
}

/** Index of the first byte from `at` on that is no white space of JSON. */
export function afterSpace(bytes: Uint8Array, at: number): number {
  let i = at
  for (let byte = bytes[i]!; byte <= SPACE; byte = bytes[++i]!) {
    if (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return i
  }
  return i
}

/** The number of any form that begins at `start`, and sets `end`; NaN when there is none. */
function otherNumberAt(bytes: Uint8Array, start: number): number {
  let at = start
  while (IN_NUMBER[bytes[at]!] === 1) at++
  end = at
  const { buffer, byteOffset } = bytes
  const text = Buffer.from(buffer, byteOffset + start, at - start).toString('latin1')
  const number = NUMBER.test(text) ? Number(text) : Number.NaN
  // A number that has no float is refused where the whole body is read.
  return Math.abs(number) < BEYOND_FLOATS ? number : Number.NaN
}
