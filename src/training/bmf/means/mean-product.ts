import { symmetricAxes } from './symmetric-axes.ts'

/** Rows of both sides, `[rows x unknowns]` with the bias last, and how many sweeps they are the mean of. */
export interface MeanRows {
  readonly users: Float32Array
  readonly items: Float32Array
  readonly sweeps: number
}

/**
 * Axes that carry less than this share of the first one's strength are left out: what they have is rounding. The
 * squares of the strengths have 16 digits.
 */
const LEAST_STRENGTH = 1e-7

/**
 * Rows whose scores are the weighted mean of the scores of two sets of rows, as closely as the same number of factors allows: the
 * best in the mean over all pairs (the singular value decomposition of the mean score). It does not matter how
 * the axes of the two are turned to each other, or how they share their scale.
 *
 * Factors are taken around their mean, whose part of a score goes to the biases: it has one axis less to share.
 */
export function meanProduct(a: MeanRows, b: MeanRows, unknowns: number): MeanRows {
  const sweeps = a.sweeps + b.sweeps
  const parts = [a, b].map((rows) => centered(rows, unknowns, rows.sweeps / sweeps))
  const users = parts.map((part) => part.users)
  const items = parts.map((part) => part.items)
  const maps = bestMaps(gramOf(users, unknowns), gramOf(items, unknowns), unknowns - 1)
  return {
    users: joined(users, maps.users, unknowns),
    items: joined(items, maps.items, unknowns),
    sweeps,
  }
}

/** Both sides with factors of mean 0 times the root of the weight, and biases times the weight. */
function centered(
  { users, items }: MeanRows,
  unknowns: number,
  weight: number,
): { users: Float64Array; items: Float64Array } {
  const [p, q] = [meanOf(users, unknowns), meanOf(items, unknowns)]
  const overlap = innerProduct(p, 0, q, unknowns - 1)
  const shifted = (rows: Float32Array, own: Float64Array, other: Float64Array, less: number) => {
    const out = new Float64Array(rows.length)
    for (let at = 0; at < rows.length; at += unknowns) {
      for (let k = 0; k + 1 < unknowns; k++) {
        out[at + k] = Math.sqrt(weight) * (rows[at + k]! - own[k]!)
      }
      const bias = rows[at + unknowns - 1]! + innerProduct(rows, at, other, unknowns - 1) - less
      out[at + unknowns - 1] = weight * bias
    }
    return out
  }
  return { users: shifted(users, p, q, 0), items: shifted(items, q, p, overlap) }
}

function meanOf(rows: Float32Array, unknowns: number): Float64Array {
  const mean = new Float64Array(unknowns)
  for (const [at, value] of rows.entries()) mean[at % unknowns]! += (value * unknowns) / rows.length
  return mean
}

function innerProduct(
  rows: ArrayLike<number>,
  at: number,
  other: Float64Array,
  length: number,
): number {
  let sum = 0
  for (let k = 0; k < length; k++) sum += rows[at + k]! * other[k]!
  return sum
}

/** Products of the factors of both parts side by side, summed over the rows. */
function gramOf(parts: readonly Float64Array[], unknowns: number): Float64Array[] {
  const factors = unknowns - 1
  const [a, b] = parts as [Float64Array, Float64Array]
  const gram = Array.from({ length: 2 * factors }, () => new Float64Array(2 * factors))
  const row = new Float64Array(2 * factors)
  for (let at = 0; at < a.length; at += unknowns) {
    row.set(a.subarray(at, at + factors))
    row.set(b.subarray(at, at + factors), factors)
    for (let i = 0; i < row.length; i++) {
      const [own, x] = [gram[i]!, row[i]!]
      for (let j = 0; j <= i; j++) own[j]! += x * row[j]!
    }
  }
  for (const [i, own] of gram.entries()) for (let j = 0; j < i; j++) gram[j]![i] = own[j]!
  return gram
}

/**
 * With wide rows X and Y of both sides and their Gram matrices G and H = R^T R, the right singular vectors V and the
 * singular values S of X Y^T follow from R G R^T = V S^2 V^T: the best rows are X A and Y B with
 * A = R^T V S^-1/2 and B = G A S^-1. A map has a row for each factor of the result.
 */
function bestMaps(
  g: readonly Float64Array[],
  h: readonly Float64Array[],
  factors: number,
): { users: Float64Array[]; items: Float64Array[] } {
  const axes = symmetricAxes(h)
  const root = axes.vectors.map((vector, i) =>
    scaled(vector, Math.sqrt(Math.max(0, axes.values[i]!))),
  )
  const strengths = symmetricAxes(root.map((row) => product(root, product(g, row))))
  const first = Math.sqrt(Math.max(0, strengths.values[0]!))
  const maps = Array.from({ length: factors }, (_, k) => {
    const strength = Math.sqrt(Math.max(0, strengths.values[k]!))
    const isKept = strength > LEAST_STRENGTH * first
    const image = transposedProduct(root, strengths.vectors[k]!)
    const users = scaled(image, isKept ? 1 / Math.sqrt(strength) : 0)
    return { users, items: scaled(product(g, users), isKept ? 1 / strength : 0) }
  })
  return { users: maps.map(({ users }) => users), items: maps.map(({ items }) => items) }
}

const scaled = (vector: Float64Array, by: number): Float64Array => vector.map((x) => x * by)

function product(matrix: readonly Float64Array[], x: Float64Array): Float64Array {
  return Float64Array.from(matrix, (row) => innerProduct(row, 0, x, x.length))
}

function transposedProduct(matrix: readonly Float64Array[], x: Float64Array): Float64Array {
  const out = new Float64Array(x.length)
  for (const [i, row] of matrix.entries()) {
    for (let j = 0; j < out.length; j++) out[j]! += x[i]! * row[j]!
  }
  return out
}

/** The factors of both parts, mapped, and the sum of their biases. */
function joined(
  parts: readonly Float64Array[],
  map: readonly Float64Array[],
  unknowns: number,
): Float32Array {
  const factors = unknowns - 1
  const [a, b] = parts as [Float64Array, Float64Array]
  const rows = new Float32Array(a.length)
  const upper = map.map((row) => row.subarray(0, factors))
  const lower = map.map((row) => row.subarray(factors))
  for (let at = 0; at < rows.length; at += unknowns) {
    for (let k = 0; k < factors; k++) {
      rows[at + k] =
        innerProduct(a, at, upper[k]!, factors) + innerProduct(b, at, lower[k]!, factors)
    }
    rows[at + factors] = a[at + factors]! + b[at + factors]!
  }
  return rows
}
