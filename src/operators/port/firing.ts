import type { StreamOperator } from './operator.ts'

/**
 * An operator whose timers the runtime fires in slices, because a watermark may make millions of them due.
 * `processWatermark` and `onProcessingTime` only note the time. What comes after it (the watermark for the operators
 * behind, more input, the end) waits until all due timers have fired.
 */
export interface FiringOperator extends StreamOperator {
  /** Fires up to `most` due timers, and returns their number: fewer than `most` when no more are due. */
  fireDue(most: number): number
  /** Time of the timer that fires or fired last, for messages; undefined before the first. */
  readonly firingAt?: number | undefined
  /**
   * Whether it has not done all that a record needs; see `OperatorContext.pauseRecord`. Its state holds a part of the
   * record's effects then, so that no checkpoint comes between.
   */
  readonly isInRecord?: boolean
  /** Does up to `most` parts of that record, and returns their number; `fireDue` calls it before it fires timers. */
  continueRecord?(most: number): number
}

/** Whether the operator's timers are fired in slices. */
export function isFiring(operator: StreamOperator): operator is FiringOperator {
  return 'fireDue' in operator
}
