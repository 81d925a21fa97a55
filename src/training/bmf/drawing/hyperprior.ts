import type { Random } from '../../../core/random.ts'
import { factorPacked, packedLength } from '../../../models/als/small-symmetric.ts'

/** Count, sum `[n]` and sum of products `[n x n]` of the rows of one side. */
export interface SideSums {
  readonly count: number
  readonly sum: Float64Array
  readonly products: Float64Array
  /** Rows of mean 0 that have the same precision, and their products: those of the weights of features. */
  readonly prior?: { readonly count: number; readonly products: Float64Array }
}

/** A normal distribution of rows: mean `[n]` and precision `[n x n]`, both triangles. */
export interface RowDistribution {
  readonly mean: Float64Array
  readonly precision: Float64Array
}

/** Rows that the hyperprior's mean (0) counts for. */
const PRIOR_ROWS = 2

/**
 * A draw of the distribution of rows from its normal-Wishart posterior, with the prior mean 0, the
 * prior scale I and n degrees of freedom (Salakhutdinov and Mnih, "Bayesian probabilistic matrix
 * factorization using Markov chain Monte Carlo", ICML 2008, equation 14).
 */
export function drawRowDistribution(
  { count, sum, products, prior }: SideSums,
  random: Random,
): RowDistribution {
  const n = sum.length
  const rows = PRIOR_ROWS + count
  const center = sum.map((x) => x / rows)
  const inverseScale = new Float64Array(packedLength(n))
  for (let i = 0, at = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      const scatter = products[i * n + j]! - rows * center[i]! * center[j]!
      inverseScale[at++] = scatter + (i === j ? 1 : 0) + (prior?.products[i * n + j] ?? 0)
    }
  }
  return drawNormalWishart(
    { center, rows, inverseScale, degrees: n + count + (prior?.count ?? 0) },
    random,
  )
}

/** Parameters of a normal-Wishart distribution. */
export interface NormalWishart {
  readonly center: Float64Array
  /** The precision of the mean is that of a row times this. */
  readonly rows: number
  /** Inverse of the Wishart's scale, packed; positive definite. */
  readonly inverseScale: Float64Array
  /** Degrees of freedom, at least n. */
  readonly degrees: number
}

/**
 * Draws precision and mean. With the inverse scale C C^T and Bartlett's factor A the precision is T T^T,
 * T = C^-T A, and the mean is center + C A^-T e / sqrt(rows).
 */
export function drawNormalWishart(
  { center, rows, inverseScale, degrees }: NormalWishart,
  random: Random,
): RowDistribution {
  const n = center.length
  const factor = inverseScale.slice()
  // The scatter of finite rows plus I is positive definite; rounding cannot change that.
  if (!factorPacked(factor, n)) throw new RangeError('the scatter of the rows is not finite')
  const bartlett = bartlettFactor(n, degrees, random)
  const root = backSolved(factor, bartlett, n)
  const precision = new Float64Array(n * n)
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = 0
      for (let k = 0; k < n; k++) sum += root[i * n + k]! * root[j * n + k]!
      precision[i * n + j] = sum
      precision[j * n + i] = sum
    }
  }
  return { mean: drawnMean({ center, rows }, factor, bartlett, random), precision }
}

/** Lower triangle with normal numbers below and roots of chi-squared ones on the diagonal, `[n x n]`. */
function bartlettFactor(n: number, degrees: number, random: Random): Float64Array {
  const factor = new Float64Array(n * n)
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < i; j++) factor[i * n + j] = random.normal()
    factor[i * n + i] = Math.sqrt(2 * drawGamma((degrees - i) / 2, random))
  }
  return factor
}

/** T of C^T T = A, `[n x n]`; C packed, with the inverse of its diagonal. */
function backSolved(factor: Float64Array, a: Float64Array, n: number): Float64Array {
  const t = a.slice()
  for (let i = n - 1; i >= 0; i--) {
    const row = packedLength(i)
    const inverse = factor[row + i]!
    for (let column = 0; column < n; column++) t[i * n + column]! *= inverse
    for (let k = 0; k < i; k++) {
      const weight = factor[row + k]!
      for (let column = 0; column < n; column++) {
        t[k * n + column]! -= weight * t[i * n + column]!
      }
    }
  }
  return t
}

function drawnMean(
  { center, rows }: Pick<NormalWishart, 'center' | 'rows'>,
  factor: Float64Array,
  bartlett: Float64Array,
  random: Random,
): Float64Array {
  const n = center.length
  const y = Float64Array.from({ length: n }, () => random.normal() / Math.sqrt(rows))
  for (let i = n - 1; i >= 0; i--) {
    for (let k = i + 1; k < n; k++) y[i]! -= bartlett[k * n + i]! * y[k]!
    y[i]! /= bartlett[i * n + i]!
  }
  const mean = center.slice()
  for (let i = 0; i < n; i++) {
    const row = packedLength(i)
    for (let k = 0; k < i; k++) mean[i]! += factor[row + k]! * y[k]!
    mean[i]! += y[i]! / factor[row + i]!
  }
  return mean
}

/**
 * A gamma number of scale 1 and shape at least 1 (Marsaglia and Tsang, "A simple method for generating
 * gamma variables", 2000).
 */
export function drawGamma(shape: number, random: Random): number {
  const d = shape - 1 / 3
  const c = 1 / Math.sqrt(9 * d)
  for (;;) {
    const x = random.normal()
    const v = (1 + c * x) ** 3
    if (v <= 0) continue
    const u = random.next()
    if (Math.log(u) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v
  }
}
