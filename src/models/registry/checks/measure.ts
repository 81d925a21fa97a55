/** One measured value with its bound. */
export interface CheckMeasure {
  readonly name: string
  readonly value: number
  /** The bound: at most (`<=`) or at least (`>=`). */
  readonly bound: number
  readonly relation: '<=' | '>='
  readonly passed: boolean
  /** What the value comes from, in words. */
  readonly detail?: string
}

/** A measure that must be at most its bound. */
export function atMost(name: string, value: number, bound: number): CheckMeasure {
  // NaN passes no check.
  return { name, value, bound, relation: '<=', passed: value <= bound }
}

/** A measure that must be at least its bound. */
export function atLeast(name: string, value: number, bound: number): CheckMeasure {
  return { name, value, bound, relation: '>=', passed: value >= bound }
}
