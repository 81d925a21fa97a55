/*
 * Small symmetric matrices in float64, packed by rows of the lower triangle: element (i, j), j <= i,
 * is at i (i + 1) / 2 + j.
 */

/** Floats of a packed n x n matrix. */
export function packedLength(n: number): number {
  return (n * (n + 1)) / 2
}

/**
 * Factors a packed matrix as L L^T in place, with the inverse of L's diagonal on the diagonal; false
 * if it is not positive definite.
 */
export function factorPacked(matrix: Float64Array, n: number): boolean {
  for (let i = 0, row = 0; i < n; row += ++i) {
    for (let j = 0, other = 0; j < i; other += ++j) {
      let sum = matrix[row + j]!
      for (let k = 0; k < j; k++) sum -= matrix[row + k]! * matrix[other + k]!
      matrix[row + j] = sum * matrix[other + j]!
    }
    let sum = matrix[row + i]!
    for (let k = 0; k < i; k++) sum -= matrix[row + k]! ** 2
    if (!(sum > 0) || sum === Number.POSITIVE_INFINITY) return false
    matrix[row + i] = 1 / Math.sqrt(sum)
  }
  return true
}

/** Solves L L^T x = b in place of b, after `factorPacked`. */
export function solvePacked(factor: Float64Array, n: number, b: Float64Array): void {
  for (let i = 0, row = 0; i < n; row += ++i) {
    let sum = b[i]!
    for (let k = 0; k < i; k++) sum -= factor[row + k]! * b[k]!
    b[i] = sum * factor[row + i]!
  }
  for (let i = n - 1, row = packedLength(n - 1); i >= 0; row -= i--) {
    const x = b[i]! * factor[row + i]!
    b[i] = x
    for (let k = 0; k < i; k++) b[k]! -= factor[row + k]! * x
  }
}

/** y = A x for a packed A. */
export function multiplyPacked(
  matrix: ArrayLike<number>,
  n: number,
  x: ArrayLike<number>,
  y: Float64Array,
): void {
  y.fill(0, 0, n)
  for (let i = 0, row = 0; i < n; row += ++i) {
    let sum = 0
    for (let j = 0; j < i; j++) {
      sum += matrix[row + j]! * x[j]!
      y[j]! += matrix[row + j]! * x[i]!
    }
    y[i]! += sum + matrix[row + i]! * x[i]!
  }
}

/** The inverse of a packed positive definite matrix, packed; undefined if it is not positive definite. */
export function invertPacked(matrix: Float64Array, n: number): Float64Array | undefined {
  const factor = matrix.slice()
  if (!factorPacked(factor, n)) return undefined
  const inverse = new Float64Array(packedLength(n))
  const column = new Float64Array(n)
  for (let j = 0; j < n; j++) {
    column.fill(0)
    column[j] = 1
    solvePacked(factor, n, column)
    for (let i = j; i < n; i++) inverse[packedLength(i) + j] = column[i]!
  }
  return inverse
}
