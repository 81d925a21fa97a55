/** Largest code of a query's element: sums of eight products with row codes fit 16 bits. */
const LARGEST_CODE = 31
/** Row codes are centred here; `assembly/top-k-screen.as.ts` has the same number. */
const CENTRE = 64
/** Elements outside have squares that leave float32, together with a row's. */
const LARGEST = 2 ** 50
const SMALLEST = 2 ** -40

/** A top-k query as codes, with the terms of its upper bounds; see `assembly/top-k-screen.as.ts`. */
export interface ScreenQuery {
  /** [dimension] */
  readonly codes: Int8Array
  /** First value of each sum: the centre of the row codes times all query codes, negated. */
  readonly centre: number
  /** A code's step. */
  readonly step: number
  /** Multiplied with the norm of a row's coded part. */
  readonly normFactor: number
  /** Multiplied with the norm of what a row's codes leave. */
  readonly errorFactor: number
}

/**
 * The codes of a query; undefined if scores of it cannot be bounded in float32 (not finite, too large
 * or too small). The factors cover, beside the coding, the rounding of a score in float32 in any order
 * of summation (Higham, "Accuracy and Stability of Numerical Algorithms", 2002, 3.1), and that of the
 * bound itself, with room to spare.
 */
export function screenQueryOf(vector: Float32Array): ScreenQuery | undefined {
  let most = 0
  // NaN must not get lost, so that the comparison below refuses it.
  for (const x of vector) most = Math.max(most, Math.abs(x))
  if (!(most >= SMALLEST && most <= LARGEST)) return undefined
  const step = Math.fround(most / LARGEST_CODE)
  const codes = new Int8Array(vector.length)
  const [sums, squares, codedSquares, leftSquares] = encode(vector, step, codes)
  const norm = Math.sqrt(squares)
  const rounding = (vector.length + 8) * 2 ** -23
  const normFactor = Math.sqrt(leftSquares) + norm * rounding + Math.sqrt(codedSquares) * 2 ** -19
  return {
    codes,
    centre: -CENTRE * sums,
    step,
    normFactor: Math.fround(normFactor * (1 + 1e-5)),
    errorFactor: Math.fround(norm * (1 + rounding) * (1 + 1e-5)),
  }
}

function encode(
  vector: Float32Array,
  step: number,
  codes: Int8Array,
): [sum: number, squares: number, codedSquares: number, leftSquares: number] {
  let sum = 0
  let squares = 0
  let codedSquares = 0
  let leftSquares = 0
  for (let i = 0; i < vector.length; i++) {
    const x = vector[i]!
    const code = Math.max(-LARGEST_CODE, Math.min(LARGEST_CODE, Math.round(x / step)))
    codes[i] = code
    sum += code
    squares += x * x
    codedSquares += (code * step) ** 2
    leftSquares += (x - code * step) ** 2
  }
  return [sum, squares, codedSquares, leftSquares]
}
