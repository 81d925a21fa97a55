/** A square matrix, row by row. */
export type Matrix = readonly (readonly number[])[]

/** A matrix of n x n elements. */
export function matrix(n: number, element: (i: number, j: number) => number): number[][] {
  return Array.from({ length: n }, (_, i) => Array.from({ length: n }, (__, j) => element(i, j)))
}

/** The sum of two matrices. */
export function plus(a: Matrix, b: Matrix): number[][] {
  return matrix(a.length, (i, j) => a[i]![j]! + b[i]![j]!)
}

/** A matrix times a number. */
export function times(a: Matrix, factor: number): number[][] {
  return matrix(a.length, (i, j) => a[i]![j]! * factor)
}

/** A matrix times a vector. */
export function product(a: Matrix, x: readonly number[]): number[] {
  return a.map((row) => row.reduce((sum, element, j) => sum + element * x[j]!, 0))
}

/** The x of A x = b, by elimination with the largest pivot of each column. */
export function solved(a: Matrix, b: readonly number[]): number[] {
  const n = b.length
  const rows = a.map((row, i) => [...row, b[i]!])
  for (let column = 0; column < n; column++) {
    let best = column
    for (let i = column; i < n; i++) {
      if (Math.abs(rows[i]![column]!) > Math.abs(rows[best]![column]!)) best = i
    }
    ;[rows[column], rows[best]] = [rows[best]!, rows[column]!]
    const pivot = rows[column]!
    for (let i = column + 1; i < n; i++) {
      const factor = rows[i]![column]! / pivot[column]!
      if (factor === 0) continue
      for (let j = column; j <= n; j++) rows[i]![j]! -= factor * pivot[j]!
    }
  }
  const x = new Array<number>(n).fill(0)
  for (let i = n - 1; i >= 0; i--) {
    let rest = rows[i]![n]!
    for (let j = i + 1; j < n; j++) rest -= rows[i]![j]! * x[j]!
    x[i] = rest / rows[i]![i]!
  }
  return x
}

/** The inverse of a matrix, column by column. */
export function inverse(a: Matrix): number[][] {
  const columns = a.map((_, k) =>
    solved(
      a,
      a.map((__, i) => (i === k ? 1 : 0)),
    ),
  )
  return matrix(a.length, (i, j) => columns[j]![i]!)
}
