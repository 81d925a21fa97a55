/**
 * The kernels in plain TypeScript and float64: tests check the WebAssembly kernels against them. They work on arrays instead of addresses and are written for readers, not for speed.
 */

/** Inner product. */
export function plainDot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number)
  return sum
}

/** alpha x + y. */
export function plainAxpy(alpha: number, x: ArrayLike<number>, y: ArrayLike<number>): number[] {
  return Array.from(x, (value, i) => alpha * value + (y[i] as number))
}

/** Inner product of every row with x. */
export function plainGemv(rows: readonly ArrayLike<number>[], x: ArrayLike<number>): number[] {
  return rows.map((row) => plainDot(row, x))
}

/** The simultaneous SGD step: the new p, and what is to be added to q. */
export function plainSgdStep(
  p: ArrayLike<number>,
  q: ArrayLike<number>,
  error: number,
  eta: number,
  lambda: number,
): { p: number[]; delta: number[] } {
  const step = (from: ArrayLike<number>, along: ArrayLike<number>): number[] =>
    Array.from(from, (value, i) => eta * (error * (along[i] as number) - lambda * value))
  return { p: plainAxpy(1, step(p, q), p), delta: step(q, p) }
}

/** Sum of weights[index] * value. */
export function plainSparseDot(
  weights: ArrayLike<number>,
  indexes: ArrayLike<number>,
  values: ArrayLike<number>,
): number {
  return plainDot(
    Array.from(indexes, (index) => weights[index] as number),
    values,
  )
}

/** P^T P, the whole square matrix. */
export function plainGram(rows: readonly ArrayLike<number>[], width: number): number[][] {
  return Array.from({ length: width }, (_, i) =>
    Array.from({ length: width }, (_, j) =>
      rows.reduce((sum, row) => sum + (row[i] as number) * (row[j] as number), 0),
    ),
  )
}

/** x of A x = b for a symmetric positive definite A, by Gaussian elimination without pivoting. */
export function plainSolve(a: readonly (readonly number[])[], b: readonly number[]): number[] {
  const n = b.length
  const rows = a.map((row, i) => [...row, b[i] as number])
  for (let k = 0; k < n; k++) {
    const pivot = rows[k] as number[]
    for (let i = k + 1; i < n; i++) {
      const row = rows[i] as number[]
      const factor = (row[k] as number) / (pivot[k] as number)
      for (let j = k; j <= n; j++) row[j] = (row[j] as number) - factor * (pivot[j] as number)
    }
  }
  const x = new Array<number>(n).fill(0)
  for (let i = n - 1; i >= 0; i--) {
    const row = rows[i] as number[]
    const known = plainDot(row.slice(i + 1, n), x.slice(i + 1))
    x[i] = ((row[n] as number) - known) / (row[i] as number)
  }
  return x
}

/** A row's least-squares problem: minimise |y - Z x|^2 + sum of penalty_i x_i^2. */
export interface PlainRowProblem {
  /** Rows of Z. */
  readonly design: readonly ArrayLike<number>[]
  readonly targets: readonly number[]
  readonly penalties: readonly number[]
}

/** The exact solution of a row. */
export function plainSolveRow({ design, targets, penalties }: PlainRowProblem): number[] {
  const gram = plainGram(design, penalties.length)
  const right = penalties.map((_, i) =>
    design.reduce((sum, row, k) => sum + (row[i] as number) * (targets[k] as number), 0),
  )
  const regularised = gram.map((row, i) =>
    row.map((value, j) => (i === j ? value + (penalties[i] as number) : value)),
  )
  return plainSolve(regularised, right)
}

/** Conjugate gradient from `start`, `steps` steps. */
export function plainGradientRow(
  problem: PlainRowProblem,
  start: readonly number[],
  steps: number,
): number[] {
  const { design, targets, penalties } = problem
  const times = (v: readonly number[]): number[] =>
    penalties.map((penalty, i) =>
      design.reduce(
        (sum, row) => sum + (row[i] as number) * plainDot(row, v),
        penalty * (v[i] as number),
      ),
    )
  const right = penalties.map((_, i) =>
    design.reduce((sum, row, k) => sum + (row[i] as number) * (targets[k] as number), 0),
  )
  let x = [...start]
  let r = plainAxpy(-1, times(x), right)
  let p = r
  for (let step = 0; step < steps; step++) {
    const rr = plainDot(r, r)
    if (rr === 0) break
    const ap = times(p)
    const alpha = rr / plainDot(p, ap)
    x = plainAxpy(alpha, p, x)
    r = plainAxpy(-alpha, ap, r)
    p = plainAxpy(plainDot(r, r) / rr, p, r)
  }
  return x
}

/** The objective of a row at x. */
export function plainRowObjective(problem: PlainRowProblem, x: readonly number[]): number {
  const errors = problem.design.map((row, k) => (problem.targets[k] as number) - plainDot(row, x))
  const penalty = problem.penalties.reduce((sum, p, i) => sum + p * (x[i] as number) ** 2, 0)
  return plainDot(errors, errors) + penalty
}

/** A row as screening stores it: s (u - 64) + e, and the norms of both parts. */
export interface PlainScreenRow {
  readonly codes: readonly number[]
  readonly scale: number
  readonly norm: number
  readonly error: number
}

/** Codes of a row of numbers that are neither huge nor tiny. */
export function plainScreenRow(row: ArrayLike<number>): PlainScreenRow {
  const values = Array.from(row)
  const most = Math.max(...values.map(Math.abs))
  const scale = most / 63
  const whole = values.map((x) => (most === 0 ? 0 : Math.round(x / scale)))
  const left = values.map((x, i) => x - scale * whole[i]!)
  return {
    codes: whole.map((code) => code + 64),
    scale,
    norm: scale * Math.sqrt(plainDot(whole, whole)),
    error: Math.sqrt(plainDot(left, left)),
  }
}

/** Upper bound of the inner product of a row and a query with codes `step` times `codes`. */
export function plainScreenBound(
  row: PlainScreenRow,
  query: ArrayLike<number>,
  codes: ArrayLike<number>,
  step: number,
): number {
  const left = Array.from(query, (x, i) => x - step * codes[i]!)
  const coded = row.codes.map((code) => code - 64)
  const product = row.scale * step * plainDot(coded, codes)
  const norms = Math.sqrt(plainDot(left, left)) * row.norm
  return product + norms + Math.sqrt(plainDot(query, query)) * row.error
}
