/**
 * Losses of linear classifiers: L(m) of the margin m = y (w.x + b), with their duals.
 *
 *   hinge          max(0, 1 - m)         support vector machine
 *   squared-hinge  max(0, 1 - m)^2
 *   logistic       log(1 + exp(-m))      decision values are log-odds
 */
export type LinearLossName = 'hinge' | 'squared-hinge' | 'logistic'

/** A loss, scaled by a cost C, for coordinate ascent; alpha is the dual variable of a row. */
export interface LinearLoss {
  readonly name: LinearLossName
  /** C L(margin). */
  primal(margin: number): number
  /** C L'(margin); of the hinge loss the left one at its kink. */
  derivative(margin: number): number
  /** C L''(margin); of the hinge losses without their kink. */
  curvature(margin: number): number
  /** Part of the row in the dual objective. */
  dual(alpha: number): number
  /**
   * Gradient of the minimised function at alpha and margin, without the barrier of the logistic loss.
   * If it points out of [0, upper], the row is at its bound.
   */
  slope(alpha: number, margin: number): number
  /** Largest alpha. */
  readonly upper: number
  /** The best alpha if the margin changes by `curvature` per unit of alpha. */
  best(alpha: number, margin: number, curvature: number): number
}

/** The losses of the rows of a training, which differ in their cost. */
export interface RowLosses {
  /** One loss for each cost. */
  readonly losses: readonly LinearLoss[]
  /** Place of each row's loss. */
  readonly places: Uint16Array
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
    derivative: (margin) => (margin < 1 ? -cost : 0),
    curvature: () => 0,
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
    derivative: (margin) => (margin < 1 ? 2 * cost * (margin - 1) : 0),
    curvature: (margin) => (margin < 1 ? 2 * cost : 0),
    dual: (alpha) => alpha - (diagonal / 2) * alpha * alpha,
    slope: (alpha, margin) => margin - 1 + diagonal * alpha,
    best: (alpha, margin, curvature) =>
      Math.max(0, alpha - (margin - 1 + diagonal * alpha) / (curvature + diagonal)),
  }
}

/** Halvings of the widest bracket of float64 numbers, with room for Newton steps between them. */
const MAX_STEPS = 2500
/** A Newton step of this length, relative to t, is not taken. */
const PRECISION = 1e-12

/**
 * The dual of the logistic loss is an entropy. With the logistic function s, the best alpha C s(t)
 * solves
 *
 *   f(t) = t + margin + curvature (C s(t) - alpha) = 0
 *
 * which increases in t. Newton's method in a bracket finds it. Far from the origin s is flat and then
 * steep, so that a Newton step can leave the bracket almost as it was: a step that does not halve |f| is
 * followed by a halving of the bracket. So the number of steps grows with the logarithm of its width.
 */
function logistic(cost: number): LinearLoss {
  const entropy = (part: number): number => (part > 0 ? part * Math.log(part / cost) : 0)
  return {
    name: 'logistic',
    upper: cost,
    // log(1 + exp(-m)) without overflow.
    primal: (margin) => cost * (Math.max(0, -margin) + Math.log1p(Math.exp(-Math.abs(margin)))),
    dual: (alpha) => -entropy(alpha) - entropy(cost - alpha),
    derivative: (margin) => -cost * sigmoid(-margin),
    curvature: (margin) => cost * sigmoid(margin) * sigmoid(-margin),
    slope: (_, margin) => margin,
    best(alpha, margin, curvature) {
      let low = -margin - curvature * (cost - alpha)
      let high = -margin + curvature * alpha
      let t = Math.min(high, Math.max(low, -margin))
      let share = sigmoid(t)
      let last = Number.POSITIVE_INFINITY
      for (let step = 0; step < MAX_STEPS && low < high; step++) {
        const value = t + margin + curvature * (cost * share - alpha)
        const newton = value / (1 + curvature * cost * share * (1 - share))
        if (Math.abs(newton) <= PRECISION * (1 + Math.abs(t))) break
        if (value > 0) high = t
        else low = t
        const next = t - newton
        const isFast = Math.abs(value) <= last / 2 && next > low && next < high
        const moved = isFast ? next : low + (high - low) / 2
        if (moved === t || moved === low || moved === high) break
        last = Math.abs(value)
        t = moved
        share = sigmoid(t)
      }
      return cost * share
    },
  }
}

function sigmoid(t: number): number {
  return 1 / (1 + Math.exp(-t))
}
