import { WeirError } from '../../core/errors.ts'
import { aFunction, oneOf } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'

/** States of a job, Flink's names and meaning. */
export type JobStatus =
  /** Submitted; nothing is deployed yet. */
  | 'CREATED'
  /** The first attempt is being deployed and its state restored. */
  | 'INITIALIZING'
  /** Every slot processes. */
  | 'RUNNING'
  /** The attempt failed; its slots are being stopped. */
  | 'FAILING'
  /** Ended by a failure after which the restart strategy allows no restart. */
  | 'FAILED'
  /** A user canceled the job; its slots are being stopped. */
  | 'CANCELLING'
  /** Ended on a user's request. */
  | 'CANCELED'
  /** Waits for the next attempt, or deploys and restores it. */
  | 'RESTARTING'
  /** Every input ended (or the job was stopped with a savepoint) and every sink has committed. */
  | 'FINISHED'
  /** The process stops; another process can continue the job from its checkpoints. */
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

const STATUS = oneOf(...(Object.keys(JOB_TRANSITIONS) as JobStatus[]))

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
  /** The failure, for FAILING and FAILED. */
  readonly cause?: unknown
  /** Time until the next attempt, for RESTARTING after a failure. */
  readonly delayMs?: number
}

/** The present state of one job; refuses transitions that Flink does not have. */
export class JobStatusMachine {
  /** Time of the last change to each state, ms since 1970. */
  readonly timestamps: Partial<Record<JobStatus, number>> = {}
  private current: JobStatus = 'CREATED'
  private readonly listeners: JobStatusListener[] = []
  private readonly waiters: (() => void)[] = []

  get status(): JobStatus {
    return this.current
  }

  /** Calls `listener` after every change from now on. */
  onChange(listener: JobStatusListener): void {
    checkArgument('job.onStatus', 'listener', aFunction(), listener)
    this.listeners.push(listener)
  }

  /** Resolves with the state once it is one of `statuses`, or one that nothing follows. */
  async reaches(statuses: readonly JobStatus[]): Promise<JobStatus> {
    for (const status of statuses) checkArgument('job.waitFor', 'status', STATUS, status)
    while (!statuses.includes(this.current) && !isTerminal(this.current)) {
      await new Promise<void>((resolve) => this.waiters.push(resolve))
    }
    return this.current
  }

  /** Changes the state. Throws ILLEGAL_STATE when `to` may not follow the present state. */
  moveTo(to: JobStatus, change: Omit<JobStatusChange, 'from' | 'to'>): void {
    const from = this.current
    if (!JOB_TRANSITIONS[from].includes(to)) {
      throw new WeirError('ILLEGAL_STATE', `a job that is ${from} cannot become ${to}`)
    }
    this.current = to
    this.timestamps[to] = change.atMs
    for (const listener of this.listeners) listener({ from, to, ...change })
    for (const wake of this.waiters.splice(0)) wake()
  }
}
