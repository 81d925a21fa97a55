import type { LinearLoss } from './loss.ts'
import type { LinearShare } from './share.ts'
import { addSparse, sparseDot } from './sparse.ts'

/** Conjugate gradient steps of one Newton step. */
const MAX_CG_STEPS = 200
/** A Newton step whose remaining gradient is this share of the first one is good enough. */
const CG_TOLERANCE = 0.1
/** Halvings of a step until it is given up. */
const MAX_HALVINGS = 40
/** Part of the decrease that the gradient promises that a step must bring (Armijo). */
const SUFFICIENT = 1e-2

/** Losses and gradient of the weights. */
interface Evaluation {
  /** Sum of the losses of all rows. */
  readonly losses: number
  /** 1/2 |w|^2 + losses. */
  readonly objective: number
  /** [width] */
  readonly gradient: Float64Array
}

/**
 * Newton's method on the primal objective, for the losses with a derivative: conjugate gradients with the
 * diagonal of the Hessian as preconditioner, and a step that is halved until the objective falls (Galli
 * and Lin, "A study on truncated Newton methods for linear classification", IEEE TNNLS 2021; the trust
 * region form is Lin, Weng, Keerthi, "Trust region Newton method for large-scale logistic regression",
 * JMLR 2008). The scale of a feature hardly changes the number of its steps, which the steps of coordinate
 * ascent depend on.
 *
 * The dual variables alpha = -C L'(margin) certify the weights: with them the duality gap is exactly
 * 1/2 |gradient|^2.
 */
export class PrimalNewton {
  private readonly share: LinearShare
  private readonly loss: LinearLoss
  /** Margin and curvature C L'' of each row, in the order of `share.sorted`. */
  private readonly margins: Float64Array
  private readonly curvatures: Float64Array

  constructor(share: LinearShare, loss: LinearLoss) {
    this.share = share
    this.loss = loss
    this.margins = new Float64Array(share.sorted.length)
    this.curvatures = new Float64Array(share.sorted.length)
  }

  /** Improves `share.weights` by one step; leaves losses and dual part in the first block's cells. */
  step(): void {
    const { share } = this
    this.startAtZeroIfBetter()
    const before = this.evaluate()
    const direction = this.direction(before.gradient)
    const along = this.decisionsOf(direction)
    this.advance(before, direction, along)
    const after = this.evaluate()
    // A later step replaces all sums, of every block.
    share.losses.fill(0)
    share.duals.fill(0)
    share.losses[0] = after.losses
    const half = dot(share.weights, share.weights) / 2
    share.duals[0] = after.objective - dot(after.gradient, after.gradient) / 2 + half
    share.steps[0] = (share.steps[0] as number) + share.sorted.length
  }

  /** Coordinate ascent that fails can leave weights that are worse than none. */
  private startAtZeroIfBetter(): void {
    const { share, loss } = this
    const objective = this.losses(this.decisionsOf(share.weights)) + squares(share.weights) / 2
    if (!(objective <= loss.primal(0) * share.sorted.length)) share.weights.fill(0)
  }

  private evaluate(): Evaluation {
    const { share, loss, margins, curvatures } = this
    const { sorted, signs, weights, table, bias } = share
    const { offsets, indexes, values, features } = table
    const decisions = this.decisionsOf(weights)
    const gradient = weights.slice()
    let losses = 0
    for (let at = 0; at < sorted.length; at++) {
      const row = sorted[at] as number
      const sign = signs[row] as number
      const margin = sign * (decisions[at] as number)
      margins[at] = margin
      curvatures[at] = loss.curvature(margin)
      losses += loss.primal(margin)
      const slope = sign * loss.derivative(margin)
      if (slope === 0) continue
      gradient[features] = (gradient[features] as number) + slope * bias
      addSparse(
        gradient,
        slope,
        indexes,
        values,
        offsets[row] as number,
        offsets[row + 1] as number,
      )
    }
    return { losses, objective: squares(weights) / 2 + losses, gradient }
  }

  /** w.x + b of every row, in the order of `share.sorted`. */
  private decisionsOf(weights: Float64Array): Float64Array {
    const { sorted, table, bias } = this.share
    const { offsets, indexes, values, features } = table
    const constant = bias * (weights[features] as number)
    return Float64Array.from(
      sorted,
      (row) =>
        constant +
        sparseDot(weights, indexes, values, offsets[row] as number, offsets[row + 1] as number),
    )
  }

  private losses(decisions: Float64Array): number {
    const { sorted, signs } = this.share
    let losses = 0
    for (let at = 0; at < sorted.length; at++) {
      losses += this.loss.primal(
        (signs[sorted[at] as number] as number) * (decisions[at] as number),
      )
    }
    return losses
  }

  /** Solves Hessian x direction = -gradient by preconditioned conjugate gradients. */
  private direction(gradient: Float64Array): Float64Array {
    const scale = this.diagonal().map((value) => 1 / value)
    const direction = new Float64Array(gradient.length)
    const residual = gradient.map((value) => -value)
    const conditioned = residual.map((value, j) => value * (scale[j] as number))
    const search = conditioned.slice()
    let energy = dot(residual, conditioned)
    const enough = energy * CG_TOLERANCE * CG_TOLERANCE
    for (let step = 0; step < MAX_CG_STEPS && energy > enough; step++) {
      const product = this.hessianTimes(search)
      const curvature = dot(search, product)
      if (!(curvature > 0)) break
      const length = energy / curvature
      for (let j = 0; j < direction.length; j++) {
        direction[j] = (direction[j] as number) + length * (search[j] as number)
        residual[j] = (residual[j] as number) - length * (product[j] as number)
        conditioned[j] = (residual[j] as number) * (scale[j] as number)
      }
      const next = dot(residual, conditioned)
      const keep = next / energy
      energy = next
      for (let j = 0; j < search.length; j++) {
        search[j] = (conditioned[j] as number) + keep * (search[j] as number)
      }
    }
    return direction
  }

  /** The diagonal of the Hessian I + sum of C L'' x x^T. */
  private diagonal(): Float64Array {
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

  private hessianTimes(vector: Float64Array): Float64Array {
    const { sorted, table, bias } = this.share
    const { offsets, indexes, values, features } = table
    const product = vector.slice()
    const constant = bias * (vector[features] as number)
    for (let at = 0; at < sorted.length; at++) {
      const curvature = this.curvatures[at] as number
      if (curvature === 0) continue
      const row = sorted[at] as number
      const [from, to] = [offsets[row] as number, offsets[row + 1] as number]
      const weight = curvature * (constant + sparseDot(vector, indexes, values, from, to))
      product[features] = (product[features] as number) + weight * bias
      addSparse(product, weight, indexes, values, from, to)
    }
    return product
  }

  /** Adds the longest of the steps 1, 1/2, 1/4 ... that lowers the objective enough; none if all fail. */
  private advance(before: Evaluation, direction: Float64Array, along: Float64Array): void {
    const { share } = this
    const { weights, sorted, signs } = share
    const slope = dot(before.gradient, direction)
    const [linear, square] = [dot(weights, direction), squares(direction)]
    const half = squares(weights) / 2
    let length = 1
    for (let halving = 0; halving < MAX_HALVINGS; halving++, length /= 2) {
      let objective = half + length * linear + (length * length * square) / 2
      for (let at = 0; at < sorted.length; at++) {
        const step = length * (signs[sorted[at] as number] as number) * (along[at] as number)
        objective += this.loss.primal((this.margins[at] as number) + step)
      }
      if (objective > before.objective + SUFFICIENT * length * slope) continue
      for (let j = 0; j < weights.length; j++) {
        weights[j] = (weights[j] as number) + length * (direction[j] as number)
      }
      return
    }
  }
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0
  for (let j = 0; j < a.length; j++) sum += (a[j] as number) * (b[j] as number)
  return sum
}

function squares(values: Float64Array): number {
  return dot(values, values)
}
