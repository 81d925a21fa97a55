import type { ProgressBoard } from '../state/progress-board.ts'

/** What a coordinator may do; valid for one attempt of the job. */
export interface OperatorCoordinatorContext {
  readonly operatorUid: string
  readonly parallelism: number
  readonly attempt: number
  /** Shared facts; the coordinator may set live versions on it. */
  readonly board: ProgressBoard
  /** Sends plain data to `handleEvent` of one subtask, or of all when `subtask` is undefined. */
  sendEvent(subtask: number | undefined, event: unknown): void
}

/**
 * The part of an operator that lives on the main thread and sees all its subtasks. What it knows is
 * not in checkpoints: subtasks tell it again after a restart.
 */
export interface OperatorCoordinator {
  /** An attempt begins: forget what the last one told. */
  start(context: OperatorCoordinatorContext): void
  /** A subtask called `sendEvent(event)`. */
  handleEvent(subtask: number, event: unknown): void
}

/** Coordinators by operator uid. */
export type OperatorCoordinators = Readonly<Record<string, OperatorCoordinator>>
