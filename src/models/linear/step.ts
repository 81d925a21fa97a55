/** The part of an observation that concerns one block of weights. */
export interface LinearStep {
  /** Derivative of the loss and rate of the observation. */
  readonly derivative: number
  readonly rate: number
  /** Indices inside the block. */
  readonly indices: Uint16Array
  /** The values of the observation there. */
  readonly values: Float32Array
}

/**
 * A fold of a step into a block: `weights` [range] and `memory` [2 range], both of `weight-memory.ts`. False, and nothing
 * changed, when a square of a gradient would not be finite.
 */
export type LinearFold = (step: LinearStep, weights: Float32Array, memory: Float32Array) => boolean
