import type { SparseTable } from '../data/sparse-table.ts'
import type { LinearLossName } from './loss.ts'
import type { LinearProgress } from './options.ts'
import type { LabelPair } from './share.ts'

/** Parts of a trained classifier. */
export interface LinearModelParts {
  readonly loss: LinearLossName
  readonly labels: LabelPair
  /** Weights by feature id. */
  readonly weights: Float64Array
  /** Added to every decision value. */
  readonly intercept: number
  readonly history: readonly LinearProgress[]
  /** Whether training ended at its tolerance, or by its option `patience`. */
  readonly converged: boolean
}

/** A trained linear classifier. */
export class LinearModel {
  readonly loss: LinearLossName
  readonly labels: LabelPair
  readonly weights: Float64Array
  readonly intercept: number
  /** One entry per round. */
  readonly history: readonly LinearProgress[]
  /** False if training ended after `maxRounds` without its tolerance: the weights may be far from the best. */
  readonly converged: boolean

  constructor(parts: LinearModelParts) {
    this.loss = parts.loss
    this.labels = parts.labels
    this.weights = parts.weights
    this.intercept = parts.intercept
    this.history = parts.history
    this.converged = parts.converged
  }

  /** w.x + b of the non-zeros `from` to `to`; features that training did not have count as 0. */
  decision(
    indexes: ArrayLike<number>,
    values: ArrayLike<number>,
    from = 0,
    to = indexes.length,
  ): number {
    let sum = this.intercept
    for (let k = from; k < to; k++) {
      const weight = this.weights[indexes[k] as number]
      if (weight !== undefined) sum += weight * (values[k] as number)
    }
    return sum
  }

  /** Decision value of a row of a table. */
  decisionOfRow(table: SparseTable, row: number): number {
    const { indexes, values, offsets } = table
    return this.decision(indexes, values, offsets[row], offsets[row + 1])
  }

  /** The label of a decision value: the positive one above `threshold`. */
  labelOf(decision: number, threshold = 0): number {
    return decision > threshold ? this.labels.positive : this.labels.negative
  }

  /** Probability of the positive label; only for logistic models, whose decisions are log-odds. */
  probabilityOf(decision: number): number {
    return 1 / (1 + Math.exp(-decision))
  }
}
