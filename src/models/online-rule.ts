/*
 * Update rules that learn an ALS model from one rating at a time. All are pure: rows in, rows out.
 * Rows are served rows (`als-row.ts`): with biases they hold two more columns, of which each side
 * learns one and the other is the constant 1.
 */

/** Which side of a rating a row is on. */
export type OnlineSide = 'user' | 'item'

/** Which user row the item's step sees: the one before the user's step (the ancestor's `SGD`), or after it (its `SGDV0`). */
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
  /** What the rule keeps beside the row, [`userMemory` or `itemMemory`]; zero for a new row. */
  readonly memory: Float32Array
  /** Updates of the row so far. */
  updates: number
  /** Ratings that the row was trained on before; 0 for one that starts from the mean row. */
  evidence: number
}

/** What a rule did with a rating. */
export type StepOutcome =
  | 'learned'
  /** The result would not have been finite: nothing was changed. */
  | 'refused'

/**
 * An update rule. `learn` runs where the user's row lives and may only read the item's; what the item
 * is to become leaves as a delta, which the item's owner folds. Deltas fold by addition: into the row
 * and memory (`step`), or into the sums from which the row is solved (`gram`).
 */
export interface OnlineRule {
  readonly shape: RowShape
  readonly kind: 'step' | 'gram'
  /** Floats kept beside a user's row and beside an item's; 0 if none. */
  readonly userMemory: number
  readonly itemMemory: number
  /** Floats of a delta. */
  readonly deltaLength: number
  /** Learns a rating: changes the user's row and memory in place and fills `delta`. */
  learn(user: LearnedRow, item: LearnedRow, rating: number, delta: Float32Array): StepOutcome
  /** Folds a delta into an item's row and memory, in place. */
  fold(item: LearnedRow, delta: Float32Array): StepOutcome
}

/** A fresh row with the memory that a rule wants for it. */
export function newRow(row: Float32Array, memory: number, evidence = 0): LearnedRow {
  return { row: row.slice(), memory: new Float32Array(memory), updates: 0, evidence }
}

/** Inner product in float64: the score of two rows. */
export function scoreOf(user: Float32Array, item: Float32Array): number {
  let a = 0
  let b = 0
  let c = 0
  let d = 0
  let i = 0
  const end = user.length - 3
  for (; i < end; i += 4) {
    a += user[i]! * item[i]!
    b += user[i + 1]! * item[i + 1]!
    c += user[i + 2]! * item[i + 2]!
    d += user[i + 3]! * item[i + 3]!
  }
  for (; i < user.length; i++) a += user[i]! * item[i]!
  return a + b + (c + d)
}

/** Whether every float is finite. */
export function allFinite(values: Float32Array): boolean {
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += values[i]! * 0
  return sum === 0
}
