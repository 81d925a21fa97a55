import type { RowLosses } from './loss.ts'
import { dot, PrimalObjective, type PrimalPoint, squares } from './primal.ts'
import type { LinearShare } from './share.ts'

/** Conjugate gradient steps of one Newton step. */
const MAX_CG_STEPS = 200
/** A Newton step whose remaining gradient is this share of the first one is good enough. */
const CG_TOLERANCE = 0.1
/** Halvings of a step until it is given up. */
const MAX_HALVINGS = 40
/** Part of the decrease that the gradient promises that a step must bring (Armijo). */
const SUFFICIENT = 1e-2

/**
 * Newton's method on the primal objective, for the losses with a derivative: conjugate gradients with the
 * diagonal of the Hessian as preconditioner, and a step that is halved until the objective falls (Galli
 * and Lin, "A study on truncated Newton methods for linear classification", IEEE TNNLS 2021;
 * docs/decisions/linear-models.md#newtons-method compares it with the trust region of Lin, Weng, Keerthi,
 * JMLR 2008). The scale of a feature hardly changes the number of its steps, which the steps of coordinate
 * ascent depend on.
 *
 * The dual variables alpha = -C L'(margin) certify the weights: with them the duality gap is exactly
 * 1/2 |gradient|^2.
 */
export class PrimalNewton {
  private readonly share: LinearShare
  private readonly objective: PrimalObjective
  /** Weights that this solver left, and the objective there: another thread may have taken a step since. */
  private last: { readonly weights: Float64Array; readonly point: PrimalPoint } | undefined

  constructor(share: LinearShare, losses: RowLosses) {
    this.share = share
    this.objective = new PrimalObjective(share, losses)
  }

  /** Improves `share.weights` by one step; leaves losses, dual part and gradient in the share. */
  step(): void {
    const { share, objective } = this
    const { weights } = share
    if (share.gradients[1] === 0) share.gradients[1] = this.gradientAtZero()
    const before = this.start()
    const direction = this.direction(before.gradient)
    const length = this.stepLength(before, direction)
    for (let j = 0; j < weights.length; j++) {
      weights[j] = (weights[j] as number) + length * (direction[j] as number)
    }
    const after = objective.at(weights)
    this.last = { weights: weights.slice(), point: after }
    // A later step replaces all sums, of every block.
    share.losses.fill(0)
    share.duals.fill(0)
    share.losses[0] = after.losses
    const square = squares(after.gradient)
    share.duals[0] = after.objective - square / 2 + squares(weights) / 2
    share.gradients[0] = Math.sqrt(square)
    share.steps[0] = (share.steps[0] as number) + share.sorted.length
  }

  private gradientAtZero(): number {
    const { gradient } = this.objective.at(new Float64Array(this.share.weights.length))
    return Math.sqrt(squares(gradient))
  }

  /** The objective at the weights. Coordinate ascent that fails can leave weights that are worse than none. */
  private start(): PrimalPoint {
    const { objective, last } = this
    const { weights } = this.share
    if (last?.weights.every((weight, j) => weight === weights[j]) === true) return last.point
    const point = objective.at(weights)
    if (point.objective <= objective.atZero) return point
    return objective.at(weights.fill(0))
  }

  /** Solves Hessian x direction = -gradient by preconditioned conjugate gradients. */
  private direction(gradient: Float64Array): Float64Array {
    const scale = this.objective.hessianDiagonal().map((value) => 1 / value)
    const direction = new Float64Array(gradient.length)
    const residual = gradient.map((value) => -value)
    const conditioned = residual.map((value, j) => value * (scale[j] as number))
    const search = conditioned.slice()
    let energy = dot(residual, conditioned)
    const enough = energy * CG_TOLERANCE * CG_TOLERANCE
    for (let step = 0; step < MAX_CG_STEPS && energy > enough; step++) {
      const product = this.objective.hessianTimes(search)
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

  /** The longest of the steps 1, 1/2, 1/4 ... that lowers the objective enough; 0 if all fail. */
  private stepLength(before: PrimalPoint, direction: Float64Array): number {
    const objectiveAt = this.objective.along(this.share.weights, direction)
    const slope = dot(before.gradient, direction)
    let length = 1
    for (let halving = 0; halving < MAX_HALVINGS; halving++, length /= 2) {
      if (objectiveAt(length) <= before.objective + SUFFICIENT * length * slope) return length
    }
    return 0
  }
}
