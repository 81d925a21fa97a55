import type { LinearLossName } from './linear-loss.ts'
import type { LinearProgress } from './linear-options.ts'
import type { LabelPair } from './linear-share.ts'
import type { SparseTable } from './sparse-table.ts'

/** What a trained classifier is made of. */
export interface LinearModelParts {
  readonly loss: LinearLossName
  readonly labels: LabelPair
  /** One weight for each feature id below its length. */
  readonly weights: Float64Array
  /** Added to every decision value. */
  readonly intercept: number
  readonly history: readonly LinearProgress[]
}

/** A trained linear classifier. */
export class LinearModel {
  readonly loss: LinearLossName
  readonly labels: LabelPair
  readonly weights: Float64Array
  readonly intercept: number
  /** One entry per round. */
  readonly history: readonly LinearProgress[]

  constructor(parts: LinearModelParts) {
    this.loss = parts.loss
    this.labels = parts.labels
    this.weights = parts.weights
    this.intercept = parts.intercept
    this.history = parts.history
  }

  /** w.x + b of `count` non-zeros; features that training never saw weigh nothing. */
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

  /** Probability of the positive label; meant for logistic models, whose decisions are log-odds. */
  probabilityOf(decision: number): number {
    return 1 / (1 + Math.exp(-decision))
  }
}
