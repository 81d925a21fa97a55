import type { StreamOperator } from './operator.ts'

/** Name of the operator state that holds records whose results are not emitted yet. */
export const IN_FLIGHT_RECORDS = 'in-flight-records'

/**
 * An operator that emits the results of a record after `processElement` has returned, such as one that waits for
 * a service. What comes after the record (watermarks, source progress, the end of input) must not overtake it: the
 * runtime passes it on by `afterInFlight`. When results become ready, the operator calls `wake` of its context.
 */
export interface DeferringOperator extends StreamOperator {
  /** Whether it takes no more input until it has emitted results. */
  readonly isFull: boolean
  /** Emits the results of one record, if any are ready; false when there are none. */
  emitNext(): boolean
  /**
   * Calls `action` when the results of all records so far are emitted, at once if they are; the actions are called
   * in order. `isBorder`: results of later records wait until the action was called.
   */
  afterInFlight(action: () => void, isBorder: boolean): void
}

/** Whether the operator emits results later. */
export function isDeferring(operator: StreamOperator): operator is DeferringOperator {
  return 'emitNext' in operator && 'afterInFlight' in operator
}
