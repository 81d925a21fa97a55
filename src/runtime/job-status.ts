import { WeirError } from '../core/errors.ts'

/** States of a job, Flink's names and meaning. */
export type JobStatus =
  /** Known, nothing is deployed yet. */
  | 'CREATED'
  /** The first attempt is being deployed and its state restored. */
  | 'INITIALIZING'
  /** Every slot processes. */
  | 'RUNNING'
  /** A failure was seen; the attempt's slots are being stopped. */
  | 'FAILING'
  /** Ended by a failure that the restart strategy does not forgive. */
  | 'FAILED'
  /** A user asked for the end; slots are being stopped. */
  | 'CANCELLING'
  /** Ended on a user's request. */
  | 'CANCELED'
  /** Waits for the next attempt, or deploys and restores it. */
  | 'RESTARTING'
  /** Every input ended (or the job was stopped with a savepoint) and every sink has committed. */
  | 'FINISHED'
  /** The process stops and leaves the job's checkpoints for another one to go on. */
  | 'SUSPENDED'

/** The states that may follow each state. */
export const JOB_TRANSITIONS: Readonly<Record<JobStatus, readonly JobStatus[]>> = {
  CREATED: ['INITIALIZING', 'CANCELLING', 'FAILING', 'SUSPENDED'],
  INITIALIZING: ['RUNNING', 'FAILING', 'CANCELLING', 'SUSPENDED'],
  RUNNING: ['FAILING', 'CANCELLING', 'FINISHED', 'SUSPENDED'],
  FAILING: ['RESTARTING', 'FAILED', 'CANCELLING', 'SUSPENDED'],
  FAILED: [],
  CANCELLING: ['CANCELED', 'FAILED', 'SUSPENDED'],
  CANCELED: [],
  RESTARTING: ['RUNNING', 'FAILING', 'CANCELLING', 'SUSPENDED'],
  FINISHED: [],
  SUSPENDED: [],
}

/** Whether nothing follows the state. */
export function isTerminal(status: JobStatus): boolean {
  return JOB_TRANSITIONS[status].length === 0
}

/** Called after every change of state. */
export type JobStatusListener = (change: JobStatusChange) => void

/** One change of a job's state. */
export interface JobStatusChange {
  readonly from: JobStatus
  readonly to: JobStatus
  /** Attempt at the time of the change; 0 before the first. */
  readonly attempt: number
  readonly atMs: number
  /** What made the job fail, for FAILING and FAILED. */
  readonly cause: unknown
}

/** The present state of one job; refuses transitions that Flink does not know. */
export class JobStatusMachine {
  private current: JobStatus = 'CREATED'
  private readonly listeners: JobStatusListener[] = []

  get status(): JobStatus {
    return this.current
  }

  /** Calls `listener` after every change from now on. */
  onChange(listener: JobStatusListener): void {
    this.listeners.push(listener)
  }

  /** Moves on. Throws ILLEGAL_STATE when `to` may not follow the present state. */
  moveTo(to: JobStatus, attempt: number, atMs: number, cause?: unknown): void {
    const from = this.current
    if (!JOB_TRANSITIONS[from].includes(to)) {
      throw new WeirError('ILLEGAL_STATE', `a job that is ${from} cannot become ${to}`)
    }
    this.current = to
    for (const listener of this.listeners) listener({ from, to, attempt, atMs, cause })
  }
}
