/*
 * Update rules that learn an ALS model from one rating at a time. They are pure: rows in, rows out.
 * Rows are served rows (`../row.ts`): with biases they have two more columns. Each side learns one of
 * them; the other one is the constant 1.
 */

import { innerProduct } from '../../../core/kernels/inner-product.ts'

/** Side of a rating that a row is on. */
export type OnlineSide = 'user' | 'item'

/** Whether the item's step uses the user's row before the user's step (the ancestor's `SGD`) or after it (its `SGDV0`). */
export type UpdateOrder = 'simultaneous' | 'user-first'

/** Shape of the rows that a rule learns. */
export interface RowShape {
  /** Floats of a row. */
  readonly dimension: number
  readonly biased: boolean
}

/** The column of a side's rows that is the constant 1; -1 without biases. */
export function constantColumn(side: OnlineSide, shape: RowShape): number {
  if (!shape.biased) return -1
  return side === 'user' ? shape.dimension - 1 : shape.dimension - 2
}

/** The columns that a side learns, ascending. */
export function learnedColumns(side: OnlineSide, shape: RowShape): Int32Array {
  const constant = constantColumn(side, shape)
  const all = Array.from({ length: shape.dimension }, (_, column) => column)
  return Int32Array.from(all.filter((column) => column !== constant))
}

/** A row as a rule sees it. */
export interface LearnedRow {
  /** [dimension] */
  readonly row: Float32Array
  /** Floats that the rule keeps beside the row, [`userMemory` or `itemMemory`]; zero for a new row. */
  readonly memory: Float32Array
  /** Updates of the row so far. */
  updates: number
  /** Ratings that the row was trained on before; 0 for one that starts from the mean row. */
  evidence: number
}

/** Outcome of a rating or delta. */
export type StepOutcome =
  | 'learned'
  /** The result is not finite: nothing was changed. */
  | 'refused'

/**
 * An update rule. `learn` runs in the slot of the user's row and only reads the item's row; the change of
 * the item is a delta, which the item's owner folds: by addition to row and memory (`step`), or with the
 * current row (`gram`).
 */
export interface OnlineRule {
  readonly shape: RowShape
  readonly kind: 'step' | 'gram'
  /** Floats kept beside a user's row and beside an item's; 0 if none. */
  readonly userMemory: number
  readonly itemMemory: number
  /** Floats of a delta; the last one says how much of a newcomer its user is (`newcomers.ts`). */
  readonly deltaLength: number
  /**
   * Sums that the rule learned over all rows of the slot, changed in place: checkpoints contain them, and
   * those of several slots can be added. Undefined if the rule learns only rows.
   */
  readonly shared?: Float64Array
  /** Learns a rating: changes the user's row and memory in place and fills `delta`. */
  learn(user: LearnedRow, item: LearnedRow, rating: number, delta: Float32Array): StepOutcome
  /** Folds a delta into an item's row and memory, in place. */
  fold(item: LearnedRow, delta: Float32Array): StepOutcome
}

/** A new row with `memory` floats of memory. */
export function newRow(row: Float32Array, memory: number, evidence = 0): LearnedRow {
  return { row: row.slice(), memory: new Float32Array(memory), updates: 0, evidence }
}

/** Inner product in float64: the score of two rows. */
export function scoreOf(user: Float32Array, item: Float32Array): number {
  return innerProduct(user, 0, item, 0, user.length)
}
