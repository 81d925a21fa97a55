import type { LinearLoss, RowLosses } from './loss.ts'
import type { LinearShare } from './share.ts'
import { addSparse, sparseDot } from './sparse.ts'

/** The primal objective at some weights. */
export interface PrimalPoint {
  /** Sum of the losses of all rows. */
  readonly losses: number
  /** 1/2 |w|^2 + losses. */
  readonly objective: number
  /** [width] */
  readonly gradient: Float64Array
}

/**
 * The primal objective of a training run as a function of the weights: value, gradient, and the Hessian
 * I + sum of C L'' x x^T at the weights that were looked at last, as a product with a vector. Weights and
 * vectors have one element for each feature and one for the constant feature.
 */
export class PrimalObjective {
  private readonly share: LinearShare
  private readonly losses: RowLosses
  /** Margin and curvature C L'' of each row, in the order of `share.sorted`. */
  private readonly margins: Float64Array
  private readonly curvatures: Float64Array

  constructor(share: LinearShare, losses: RowLosses) {
    this.share = share
    this.losses = losses
    this.margins = new Float64Array(share.sorted.length)
    this.curvatures = new Float64Array(share.sorted.length)
  }

  /** The objective of weights 0. */
  get atZero(): number {
    let losses = 0
    for (let at = 0; at < this.share.sorted.length; at++) losses += this.lossAt(at).primal(0)
    return losses
  }

  /** The loss of a row, by its place in `share.sorted`. */
  private lossAt(at: number): LinearLoss {
    const { losses, places } = this.losses
    return losses[places[this.share.sorted[at]!]!]!
  }

  /** Looks at weights: the Hessian and `along` are those of these weights until the next call. */
  at(weights: Float64Array): PrimalPoint {
    const { margins, curvatures } = this
    const { sorted, signs, table, bias } = this.share
    const { offsets, indexes, values, features } = table
    const constant = bias * (weights[features] as number)
    const gradient = weights.slice()
    let slopes = 0
    let losses = 0
    for (let at = 0; at < sorted.length; at++) {
      const row = sorted[at] as number
      const [from, to] = [offsets[row] as number, offsets[row + 1] as number]
      const sign = signs[row] as number
      const margin = sign * (constant + sparseDot(weights, indexes, values, from, to))
      const loss = this.lossAt(at)
      margins[at] = margin
      curvatures[at] = loss.curvature(margin)
      losses += loss.primal(margin)
      const slope = sign * loss.derivative(margin)
      if (slope === 0) continue
      slopes += slope
      addSparse(gradient, slope, indexes, values, from, to)
    }
    gradient[features] = (gradient[features] as number) + slopes * bias
    return { losses, objective: squares(weights) / 2 + losses, gradient }
  }

  /**
   * The objective on the line from `weights`, which were looked at last, in a direction: a function of the
   * length of the step. One product with the rows, then one loss a row for each length.
   */
  along(weights: Float64Array, direction: Float64Array): (length: number) => number {
    const { margins } = this
    const steps = this.marginSteps(direction)
    const half = squares(weights) / 2
    const [linear, square] = [dot(weights, direction), squares(direction)]
    return (length) => {
      let objective = half + length * linear + (length * length * square) / 2
      for (let at = 0; at < steps.length; at++) {
        const margin = (margins[at] as number) + length * (steps[at] as number)
        objective += this.lossAt(at).primal(margin)
      }
      return objective
    }
  }

  /** The diagonal of the Hessian. */
  hessianDiagonal(): Float64Array {
    const { sorted, table, bias } = this.share
    const { offsets, indexes, values, features } = table
    const diagonal = new Float64Array(features + 1).fill(1)
    for (let at = 0; at < sorted.length; at++) {
      const curvature = this.curvatures[at] as number
      if (curvature === 0) continue
      const row = sorted[at] as number
      diagonal[features] = (diagonal[features] as number) + curvature * bias * bias
      const to = offsets[row + 1] as number
      for (let k = offsets[row] as number; k < to; k++) {
        const index = indexes[k] as number
        diagonal[index] = (diagonal[index] as number) + curvature * (values[k] as number) ** 2
      }
    }
    return diagonal
  }

  /** The Hessian times a vector. */
  hessianTimes(vector: Float64Array): Float64Array {
    const { sorted, table, bias } = this.share
    const { offsets, indexes, values, features } = table
    const product = vector.slice()
    const constant = bias * (vector[features] as number)
    let sum = 0
    for (let at = 0; at < sorted.length; at++) {
      const curvature = this.curvatures[at] as number
      if (curvature === 0) continue
      const row = sorted[at] as number
      const [from, to] = [offsets[row] as number, offsets[row + 1] as number]
      const weight = curvature * (constant + sparseDot(vector, indexes, values, from, to))
      sum += weight
      addSparse(product, weight, indexes, values, from, to)
    }
    product[features] = (product[features] as number) + sum * bias
    return product
  }

  /** Change of the margin of every row for a step of length 1, in the order of `share.sorted`. */
  private marginSteps(direction: Float64Array): Float64Array {
    const { sorted, signs, table, bias } = this.share
    const { offsets, indexes, values, features } = table
    const constant = bias * (direction[features] as number)
    const steps = new Float64Array(sorted.length)
    for (let at = 0; at < sorted.length; at++) {
      const row = sorted[at] as number
      const [from, to] = [offsets[row] as number, offsets[row + 1] as number]
      const decision = constant + sparseDot(direction, indexes, values, from, to)
      steps[at] = (signs[row] as number) * decision
    }
    return steps
  }
}

/** Inner product. */
export function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0
  for (let j = 0; j < a.length; j++) sum += (a[j] as number) * (b[j] as number)
  return sum
}

/** Sum of squares. */
export function squares(values: Float64Array): number {
  return dot(values, values)
}
