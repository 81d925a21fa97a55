import type { ProgressBoard } from '../../state/catalog/progress-board.ts'

/** Context of a coordinator; valid for one attempt of the job. */
export interface OperatorCoordinatorContext {
  readonly operatorUid: string
  readonly parallelism: number
  readonly attempt: number
  /** Board of the job's slots; the coordinator may set live versions on it. */
  readonly board: ProgressBoard
  /**
   * Whether every reader (query threads and slots) can read every row table that a slot has opened.
   * Call it after reading the slots' offsets: then it covers all rows below them.
   */
  readersAreUpToDate(): boolean
  /** Sends plain data to `handleEvent` of one subtask, or of all when `subtask` is undefined. */
  sendEvent(subtask: number | undefined, event: unknown): void
}

/**
 * The part of an operator that runs on the main thread, for all its subtasks. Its state is not in
 * checkpoints: after a restart the subtasks send it again.
 */
export interface OperatorCoordinator {
  /** An attempt begins: discard the state of the last one. */
  start(context: OperatorCoordinatorContext): void
  /** A subtask called `sendEvent(event)`. */
  handleEvent(subtask: number, event: unknown): void
}

/** Coordinators by operator uid. */
export type OperatorCoordinators = Readonly<Record<string, OperatorCoordinator>>
