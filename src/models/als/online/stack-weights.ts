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
   * Sums over the ratings, `| x x^T packed | x (rating - x . start) |`: all that was learned. Those of
   * several slots can be added.
   */
  readonly sums: Float64Array
  private readonly start: Float64Array
  private readonly settings: StackWeightSettings
  private readonly matrix: Float64Array
  private readonly right: Float64Array

  constructor(start: Float64Array, settings: StackWeightSettings) {
    const n = start.length
    this.start = start
    this.current = start.slice()
    this.settings = settings
    this.sums = new Float64Array(packedLength(n) + n)
    this.matrix = new Float64Array(packedLength(n))
    this.right = new Float64Array(n)
  }

  /** Adds a rating with the predictions before it; leaves out what is not finite. */
  observe(scores: Float64Array, rating: number): void {
    const { start, sums, settings } = this
    const n = start.length
    let error = rating
    for (let i = 0; i < n; i++) error -= start[i]! * scores[i]!
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
    const { start, current, sums, matrix, right, settings } = this
    const n = start.length
    matrix.set(sums.subarray(0, matrix.length))
    for (let i = 0; i < n; i++) matrix[packedLength(i) + i]! += settings.prior
    const { count, strength } = settings.level ?? NO_LEVEL
    for (let at = 0; at < packedLength(count); at++) matrix[at]! += strength
    for (let i = 0; i < n; i++) right[i] = sums[matrix.length + i]!
    if (!factorPacked(matrix, n)) return
    solvePacked(matrix, n, right)
    for (let i = 0; i < n; i++) current[i] = start[i]! + right[i]!
  }
}

const NO_LEVEL = { count: 0, strength: 0 }
