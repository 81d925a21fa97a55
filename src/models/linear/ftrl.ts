import { numberIn } from '../../core/options/kinds.ts'
import type { OptionShape } from '../../core/options/shape.ts'
import type { LinearFold } from './step.ts'
import { MOST_SQUARES, UNKNOWN_EXAMPLES } from './weight-memory.ts'

/** Options of FTRL-proximal (`ftrlFold`), by the names of the paper. */
export interface FtrlOptions {
  /** How far a weight moves at first. @default 0.1 */
  readonly alpha?: number
  /** Squares that each weight begins with, as a root: a larger one makes the first steps shorter. @default 1 */
  readonly beta?: number
  /** Lambda 1: a weight is 0 until its gradients add up to more than this. @default 0 */
  readonly l1?: number
  /** Lambda 2: weight of half the square of each weight against the losses. @default 0 */
  readonly l2?: number
}

/** The options of FTRL-proximal. */
export const FTRL: OptionShape<FtrlOptions> = {
  alpha: numberIn({ above: 0 }),
  beta: numberIn({ min: 0 }),
  l1: numberIn({ min: 0 }),
  l2: numberIn({ min: 0 }),
}

/**
 * A fold by FTRL-proximal: McMahan et al., "Ad Click Prediction: a View from the Trenches", KDD 2013, Algorithm 1. With g the
 * gradient of the loss by the weight:
 *
 *   sigma = (sqrt(n + g^2) - sqrt(n)) / alpha
 *   z += g - sigma w,   n += g^2
 *   w  = 0 where |z| <= l1, else -(z - sign(z) l1) / ((beta + sqrt(n)) / alpha + l2)
 *
 * Memory of a block: all -n, then all z. The sign says which rule the numbers are of, so that either one
 * goes on from what the other one left, and from a training: there z is the one that gives the weight. With other options a
 * weight changes at its next observation. `intercept`: the index of the constant feature, which has no l1 and l2; -1 for none.
 */
export function ftrlFold(
  { alpha = 0.1, beta = 1, l1: lambda1 = 0, l2: lambda2 = 0 }: FtrlOptions,
  intercept: number,
): LinearFold {
  return ({ derivative, indices, values }, weights, memory) => {
    for (const value of values) {
      const gradient = derivative * value
      if (!Number.isFinite(Math.fround(gradient * gradient))) return false
    }
    for (let k = 0; k < indices.length; k++) {
      const i = indices[k]!
      const value = values[k]!
      if (value === 0) continue
      const at = weights.length + i
      const l1 = i === intercept ? 0 : lambda1
      const l2 = i === intercept ? 0 : lambda2
      const weight = weights[i]!
      const isStarted = memory[i]! < 0
      const before = isStarted ? -memory[i]! : startingSquares(memory[i]!, weight, value)
      const oldRoot = Math.sqrt(before)
      const start = -weight * ((beta + oldRoot) / alpha + l2) - Math.sign(weight) * l1
      const gradient = derivative * value
      const squares = Math.min(before + gradient * gradient, MOST_SQUARES)
      const root = Math.sqrt(squares)
      const z = (isStarted ? memory[at]! : start) + gradient - ((root - oldRoot) / alpha) * weight
      const kept = Math.fround(Math.max(-MOST_SQUARES, Math.min(z, MOST_SQUARES)))
      memory[i] = -squares
      // A gradient whose square is 0 in float32 starts nothing.
      if (memory[i] === 0) {
        memory[i] = 0
        continue
      }
      memory[at] = kept
      const beyond = Math.abs(kept) - l1
      weights[i] = beyond <= 0 ? 0 : (-Math.sign(kept) * beyond) / ((beta + root) / alpha + l2)
    }
    return true
  }
}

/** The squares that a weight begins with: those of its training, or of many examples where it was published without any. */
function startingSquares(squares: number, weight: number, value: number): number {
  if (squares > 0 || weight === 0) return squares
  return Math.min(UNKNOWN_EXAMPLES * value * value, MOST_SQUARES)
}
