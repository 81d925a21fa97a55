/** Rounds after which elements off the diagonal are zero up to rounding; they fall quadratically. */
const MOST_ROUNDS = 30

/** Eigenvalues of a symmetric matrix, largest first, and its unit eigenvectors. */
export interface SymmetricAxes {
  readonly values: readonly number[]
  readonly vectors: readonly Float64Array[]
}

/** Axes of a symmetric matrix by Jacobi's rotations (Golub and Van Loan, "Matrix computations", 8.5). */
export function symmetricAxes(matrix: readonly Float64Array[]): SymmetricAxes {
  const n = matrix.length
  const rows = matrix.map((row) => row.slice())
  const vectors = rows.map((_, i) => new Float64Array(n).fill(1, i, i + 1))
  const trace = rows.reduce((sum, row, i) => sum + Math.abs(row[i]!), 0)
  const least = Number.EPSILON * trace
  for (let round = 0, isTurned = true; isTurned && round < MOST_ROUNDS; round++) {
    isTurned = false
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        if (Math.abs(rows[p]![q]!) <= least) continue
        isTurned = true
        clearElement(rows, vectors, p, q)
      }
    }
  }
  const order = vectors.map((_, i) => i).sort((i, j) => rows[j]![j]! - rows[i]![i]!)
  return { values: order.map((i) => rows[i]![i]!), vectors: order.map((i) => vectors[i]!) }
}

/** Turns axes p and q so that element (p, q) becomes 0. */
function clearElement(
  rows: readonly Float64Array[],
  vectors: readonly Float64Array[],
  p: number,
  q: number,
): void {
  const theta = (rows[q]![q]! - rows[p]![p]!) / (2 * rows[p]![q]!)
  const tangent = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1))
  const cosine = 1 / Math.hypot(tangent, 1)
  const sine = tangent * cosine
  const turn = (a: Float64Array, i: number, b: Float64Array, j: number): void => {
    const [x, y] = [a[i]!, b[j]!]
    a[i] = cosine * x - sine * y
    b[j] = sine * x + cosine * y
  }
  for (const row of rows) turn(row, p, row, q)
  for (let k = 0; k < rows.length; k++) {
    turn(rows[p]!, k, rows[q]!, k)
    turn(vectors[p]!, k, vectors[q]!, k)
  }
}
