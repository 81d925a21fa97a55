import { requireArgument } from '../../core/errors.ts'
import { numberIn, oneOf, required } from '../../core/options/kinds.ts'
import { checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import { FTRL, type FtrlOptions } from './ftrl.ts'
import type { LinearStep } from './step.ts'
import { MOST_SQUARES, UNKNOWN_EXAMPLES } from './weight-memory.ts'

/** How a linear model is learned. */
export interface OnlineLinearOptions {
  readonly loss: 'hinge' | 'logistic'
  /** How far a weight moves at first, for features of any scale; not with `ftrl`, which has `alpha`. @default 0.5 */
  readonly learningRate?: number
  /** Weights are learned by FTRL-proximal, by which many stay 0. @default by the normalised adaptive gradient */
  readonly ftrl?: FtrlOptions
  /** Longer gradients of an observation are shortened to this norm. @default none */
  readonly gradientClip?: number
}

/** As `OnlineLinearOptions`, for versions that say their loss. */
export type OnlineLinearSettings = Omit<OnlineLinearOptions, 'loss'> &
  Partial<Pick<OnlineLinearOptions, 'loss'>>

/** The options of an online linear rule. */
export const ONLINE_LINEAR: OptionShape<OnlineLinearOptions> = {
  loss: required(oneOf('hinge', 'logistic')),
  learningRate: numberIn({ above: 0 }),
  ftrl: nested(FTRL),
  gradientClip: numberIn({ above: 0, orInfinity: true }),
}

/** The settings of an online linear rule. */
export const ONLINE_LINEAR_SETTINGS: OptionShape<OnlineLinearSettings> = {
  ...ONLINE_LINEAR,
  loss: oneOf('hinge', 'logistic'),
}

/**
 * Learns a linear model from labelled sparse observations, by default by the normalised adaptive gradient of Ross,
 * Mineiro and Langford, "Normalized Online Learning" (2013), as in Vowpal Wabbit. Each weight has
 * its own rate, which falls with the gradients of the weight (AdaGrad) and does not depend on the scale
 * of the feature:
 *
 *   s_i = max(s_i, |x_i|), and where s_i grows, w_i is scaled down by old / new
 *   G_i += (d x_i)^2          d = dloss / dmargin
 *   w_i -= rate d x_i / (s_i sqrt(G_i))        rate = learningRate / sqrt(non-zeros)
 *
 * A published weight starts with the s_i and G_i of its training examples (`training/linear/prior.ts`), as if
 * they had been learned here. It is not scaled down where s_i grows: it was not computed with s_i.
 *
 * The derivative d needs all weights of an observation, the rest only one weight: d is computed where
 * the observation is read, and the step where the weight is stored.
 */
export class OnlineLinearRule {
  private readonly loss: 'hinge' | 'logistic'
  private readonly learningRate: number
  private readonly clip: number

  /** Throws INVALID_ARGUMENT. */
  constructor(options: OnlineLinearOptions) {
    checkOptions('new OnlineLinearRule', ONLINE_LINEAR, options)
    requireArgument(
      options.ftrl === undefined || options.learningRate === undefined,
      'FTRL-proximal has alpha in place of learningRate; give one of them',
    )
    const { loss, learningRate = 0.5, gradientClip = Number.POSITIVE_INFINITY } = options
    this.loss = loss
    this.learningRate = learningRate
    this.clip = gradientClip
  }

  /** Loss of a decision value; `label` is 1 or -1. */
  lossOf(decision: number, label: number): number {
    const margin = decision * label
    if (this.loss === 'hinge') return Math.max(0, 1 - margin)
    return margin > 0 ? Math.log1p(Math.exp(-margin)) : Math.log1p(Math.exp(margin)) - margin
  }

  /** Derivative of the loss, times the importance, by the decision value, clipped; 0 where there is nothing to learn. */
  derivative(decision: number, label: number, values: Float32Array, importance = 1): number {
    const margin = decision * label
    const one = this.loss === 'hinge' ? (margin < 1 ? 1 : 0) : 1 / (1 + Math.exp(margin))
    const slope = importance * one
    if (slope === 0 || this.clip === Number.POSITIVE_INFINITY) return -label * slope
    let squares = 0
    for (let k = 0; k < values.length; k++) squares += values[k]! * values[k]!
    return -label * Math.min(slope, this.clip / Math.sqrt(squares))
  }

  /** Rate of the steps of an observation with so many non-zeros. */
  rateOf(nonZeros: number): number {
    return this.learningRate / Math.sqrt(Math.max(1, nonZeros))
  }
}

/**
 * Folds a step into a block: `weights` [range] and `memory` [2 range], all G, then all s. False, and
 * nothing changed, when a weight would not be finite.
 */
export function foldLinearStep(
  { derivative, rate, indices, values }: LinearStep,
  weights: Float32Array,
  memory: Float32Array,
): boolean {
  for (let k = 0; k < indices.length; k++) {
    const gradient = derivative * values[k]!
    if (!Number.isFinite(Math.fround(gradient * gradient))) return false
  }
  for (let k = 0; k < indices.length; k++) {
    const i = indices[k]!
    const value = values[k]!
    if (value === 0) continue
    const gradient = derivative * value
    if (memory[i]! < 0) leaveFtrl(i, value, memory)
    // One value says too little about the scale for a step that a published weight would survive.
    if (startsPublished(i, value, weights, memory)) continue
    const scale = grownScale(i, value, weights, memory)
    memory[i] = Math.min(memory[i]! + gradient * gradient, MOST_SQUARES)
    const root = Math.sqrt(memory[i]!)
    if (root > 0) weights[i] = weights[i]! - (rate * gradient) / (scale * root)
  }
  return true
}

/** Goes on from FTRL-proximal: its squares are known, the scale of the feature is not. */
function leaveFtrl(i: number, value: number, memory: Float32Array): void {
  memory[i] = -memory[i]!
  memory[memory.length / 2 + i] = -Math.abs(value)
}

/** Starts the memory of a published weight that has none: of the weights without a memory, only those are not 0. */
function startsPublished(
  i: number,
  value: number,
  weights: Float32Array,
  memory: Float32Array,
): boolean {
  const at = weights.length + i
  if (memory[at] !== 0 || weights[i] === 0) return false
  memory[i] = Math.min(UNKNOWN_EXAMPLES * value * value, MOST_SQUARES)
  memory[at] = -Math.abs(value)
  return true
}

/**
 * The largest value of a feature, with this one. Where it grows, a learned weight shrinks with it; a published
 * one stays, and its squares grow: they are of as many examples as before.
 */
function grownScale(i: number, value: number, weights: Float32Array, memory: Float32Array): number {
  const at = weights.length + i
  const size = Math.abs(value)
  const scale = Math.abs(memory[at]!)
  if (size <= scale) return scale
  const isPublished = memory[at]! < 0
  if (isPublished) memory[i] = Math.min(memory[i]! * (size / scale) ** 2, MOST_SQUARES)
  else weights[i] = (weights[i]! * scale) / size
  memory[at] = isPublished ? -size : size
  return size
}
