/*
 * Arithmetic of gradient steps on rows, one pass each, with two sums so that one addition need not wait
 * for the one before.
 */

/** Indices of the products of two rows: of both, the squares of the first, those of the second. */
export const PRODUCT = 0
export const ROW = 1
export const OTHER = 2

/** Products of x and y, x and x, y and y into `into`, [3]; y may be longer than x. */
export function multiply(x: Float32Array, y: Float32Array, into: Float64Array): void {
  let product = 0
  let squaresX = 0
  let squaresY = 0
  let productB = 0
  let squaresXB = 0
  let squaresYB = 0
  const even = x.length & ~1
  for (let i = 0; i < even; i += 2) {
    const a = x[i]!
    const b = y[i]!
    const c = x[i + 1]!
    const d = y[i + 1]!
    product += a * b
    productB += c * d
    squaresX += a * a
    squaresXB += c * c
    squaresY += b * b
    squaresYB += d * d
  }
  if (even < x.length) {
    product += x[even]! * y[even]!
    squaresX += x[even]! ** 2
    squaresY += y[even]! ** 2
  }
  into[PRODUCT] = product + productB
  into[ROW] = squaresX + squaresXB
  into[OTHER] = squaresY + squaresYB
}

/** a x + b y into `into`, as long as x; returns the sum of its squares. */
export function addScaled(
  a: number,
  x: Float32Array,
  b: number,
  y: Float32Array,
  into: Float32Array,
): number {
  let squares = 0
  let squaresB = 0
  const even = x.length & ~1
  for (let i = 0; i < even; i += 2) {
    const first = Math.fround(a * x[i]! + b * y[i]!)
    const second = Math.fround(a * x[i + 1]! + b * y[i + 1]!)
    into[i] = first
    into[i + 1] = second
    squares += first * first
    squaresB += second * second
  }
  if (even < x.length) {
    const last = Math.fround(a * x[even]! + b * y[even]!)
    into[even] = last
    squares += last * last
  }
  return squares + squaresB
}

/** Sets a column of a row; returns the change of the sum of its squares. */
export function replaced(row: Float32Array, column: number, value: number): number {
  const before = row[column]!
  row[column] = value
  return row[column]! ** 2 - before * before
}
