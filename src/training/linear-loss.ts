/**
 * Losses of linear classifiers: L(m) of the margin m = y (w.x + b), with their duals.
 *
 *   hinge          max(0, 1 - m)         support vector machine
 *   squared-hinge  max(0, 1 - m)^2
 *   logistic       log(1 + exp(-m))      decision values are log-odds
 */
export type LinearLossName = 'hinge' | 'squared-hinge' | 'logistic'

/** A loss, scaled by a cost C, as coordinate ascent needs it; alpha is a row's dual variable. */
export interface LinearLoss {
  readonly name: LinearLossName
  /** C L(margin). */
  primal(margin: number): number
  /** The row's part of the dual objective. */
  dual(alpha: number): number
  /**
   * Gradient of what is minimised at the present alpha and margin, without the logistic loss's
   * barrier: where it points out of [0, upper], the row is at its bound.
   */
  slope(alpha: number, margin: number): number
  /** Largest alpha. */
  readonly upper: number
  /** The best alpha when the margin moves by `curvature` for each unit of it. */
  best(alpha: number, margin: number, curvature: number): number
}

/** A loss by name, with cost C > 0. */
export function linearLoss(name: LinearLossName, cost: number): LinearLoss {
  if (name === 'logistic') return logistic(cost)
  return name === 'hinge' ? hinge(cost) : squaredHinge(cost)
}

function hinge(cost: number): LinearLoss {
  return {
    name: 'hinge',
    upper: cost,
    primal: (margin) => (margin < 1 ? cost * (1 - margin) : 0),
    dual: (alpha) => alpha,
    slope: (_, margin) => margin - 1,
    best: (alpha, margin, curvature) =>
      Math.min(cost, Math.max(0, alpha - (margin - 1) / curvature)),
  }
}

function squaredHinge(cost: number): LinearLoss {
  const diagonal = 0.5 / cost
  return {
    name: 'squared-hinge',
    upper: Number.POSITIVE_INFINITY,
    primal: (margin) => (margin < 1 ? cost * (1 - margin) ** 2 : 0),
    dual: (alpha) => alpha - (diagonal / 2) * alpha * alpha,
    slope: (alpha, margin) => margin - 1 + diagonal * alpha,
    best: (alpha, margin, curvature) =>
      Math.max(0, alpha - (margin - 1 + diagonal * alpha) / (curvature + diagonal)),
  }
}

const NEWTON_STEPS = 20
const NEWTON_TOLERANCE = 1e-10

/**
 * The dual of the logistic loss is an entropy; its best alpha C s(t), s the logistic function,
 * solves t + margin + curvature (C s(t) - alpha) = 0, which rises in t: Newton's method inside a
 * bracket, from where it would be if the margin did not move.
 */
function logistic(cost: number): LinearLoss {
  const entropy = (part: number): number => (part > 0 ? part * Math.log(part / cost) : 0)
  return {
    name: 'logistic',
    upper: cost,
    // log(1 + exp(-m)) without overflow.
    primal: (margin) => cost * (Math.max(0, -margin) + Math.log1p(Math.exp(-Math.abs(margin)))),
    dual: (alpha) => -entropy(alpha) - entropy(cost - alpha),
    slope: (_, margin) => margin,
    best(alpha, margin, curvature) {
      let low = -margin - curvature * (cost - alpha)
      let high = -margin + curvature * alpha
      let t = -margin
      let share = 1 / (1 + Math.exp(-t))
      for (let step = 0; step < NEWTON_STEPS; step++) {
        const value = t + margin + curvature * (cost * share - alpha)
        if (Math.abs(value) < NEWTON_TOLERANCE) break
        if (value > 0) high = t
        else low = t
        const next = t - value / (1 + curvature * cost * share * (1 - share))
        t = next > low && next < high ? next : (low + high) / 2
        share = 1 / (1 + Math.exp(-t))
      }
      return cost * share
    },
  }
}
