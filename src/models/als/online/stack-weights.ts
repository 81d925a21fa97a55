import { factorPacked, packedLength, solvePacked } from '../small-symmetric.ts'

/** Settings of the weights. */
export interface StackWeightSettings {
  /** Factor on the weight of past ratings with each new one, 0 < f <= 1. */
  readonly forgetting: number
  /** How strongly each weight is pulled to its start: that of a constant counts for so many ratings. */
  readonly prior: number
  /**
   * How strongly the sum of the first `count` weights, those of predictions of the same thing, is pulled to its start. All of
   * them together say how high predictions are: a few ratings must not change that. @default not at all
   */
  readonly level?: { readonly count: number; readonly strength: number }
  /** Weights from which the sums count. @default the start */
  readonly origin?: Float64Array
}

/**
 * Weights of predictions, learned by recursive ridge regression with forgetting f: they minimise
 *
 *   sum over ratings f^age (rating - w . scores)^2  +  prior |w - start|^2  +  level (sum of w - start)^2
 *
 * The prior is never forgotten, so the weights stay bounded when all predictions are equal. Their number
 * is small, so each rating solves the whole system.
 */
export class StackWeights {
  /** Weights after the last rating. */
  readonly current: Float64Array
  /**
   * Sums over the ratings, `| x x^T packed | x (rating - x . origin) |`: all that was learned. Those of
   * several slots can be added.
   */
  readonly sums: Float64Array
  private readonly origin: Float64Array
  private readonly settings: StackWeightSettings
  /** The pull of the start, seen from the origin. */
  private readonly pull: Float64Array
  private readonly matrix: Float64Array
  private readonly right: Float64Array

  constructor(start: Float64Array, settings: StackWeightSettings) {
    const n = start.length
    const { prior, level, origin = start } = settings
    this.origin = origin
    this.current = start.slice()
    this.settings = settings
    const away = start.map((weight, i) => weight - origin[i]!)
    const together = level === undefined ? 0 : sumOf(away.subarray(0, level.count))
    this.pull = away.map(
      (one, i) => prior * one + (i < (level?.count ?? 0) ? level!.strength * together : 0),
    )
    this.sums = new Float64Array(packedLength(n) + n)
    this.matrix = new Float64Array(packedLength(n))
    this.right = new Float64Array(n)
  }

  /** Adds a rating with the predictions before it; leaves out what is not finite. */
  observe(scores: Float64Array, rating: number): void {
    const { origin, sums, settings } = this
    const n = origin.length
    let error = rating
    for (let i = 0; i < n; i++) error -= origin[i]! * scores[i]!
    if (!Number.isFinite(error)) return
    let at = 0
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++, at++) {
        sums[at] = settings.forgetting * sums[at]! + scores[i]! * scores[j]!
      }
    }
    for (let i = 0; i < n; i++, at++) {
      sums[at] = settings.forgetting * sums[at]! + scores[i]! * error
    }
    this.solve()
  }

  /** Computes the weights from the sums; keeps the last ones if the sums are not finite. */
  private solve(): void {
    const { origin, current, sums, matrix, right, pull, settings } = this
    const n = origin.length
    matrix.set(sums.subarray(0, matrix.length))
    for (let i = 0; i < n; i++) matrix[packedLength(i) + i]! += settings.prior
    const { count, strength } = settings.level ?? NO_LEVEL
    for (let at = 0; at < packedLength(count); at++) matrix[at]! += strength
    for (let i = 0; i < n; i++) right[i] = sums[matrix.length + i]! + pull[i]!
    if (!factorPacked(matrix, n)) return
    solvePacked(matrix, n, right)
    for (let i = 0; i < n; i++) current[i] = origin[i]! + right[i]!
  }
}

const NO_LEVEL = { count: 0, strength: 0 }

function sumOf(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0)
}
