import type { WeirError } from '../../core/errors.ts'
import { isUnservable, restartPauseMs } from '../policy/supervision.ts'

/** A lost worker that is not started again yet. */
interface LostWorker {
  /** Losses in a row without an answer, its own included. */
  readonly losses: number
  /** Monotonic ms. */
  readonly lostAt: number
}

/** The lost workers of one model: when they are started again, and how the starts before went. Reads no clock. */
export class WorkerRestarts {
  /** Time that the last start took, ms. */
  startMs = 0
  private waiting: readonly LostWorker[] = []
  private lossesInRow = 0
  private answeredAtLoss = 0
  /** Loads that failed, and those whose process was killed, since a worker served the model; and the last error. */
  private failedLoads = 0
  private lostLoads = 0
  private loadError: WeirError | undefined

  /**
   * A worker is to be started again, because it ended or could not load the model. `answered`: the requests that all workers
   * have answered so far.
   */
  lost(answered: number, nowMs: number): void {
    // What other workers answer says nothing about a load that fails.
    const isFirst = answered > this.answeredAtLoss && !this.isFailing
    this.lossesInRow = isFirst ? 1 : this.lossesInRow + 1
    this.answeredAtLoss = answered
    this.waiting = [...this.waiting, { losses: this.lossesInRow, lostAt: nowMs }]
  }

  /**
   * Takes the workers whose pause is over and returns how many there are. `firstDeadline`: that of the requests that wait
   * now, monotonic ms, Infinity without any; it may shorten a pause that has begun.
   */
  takeDue(nowMs: number, firstDeadline: number): number {
    const { startMs } = this
    const isPaused = ({ losses, lostAt }: LostWorker): boolean =>
      nowMs - lostAt < restartPauseMs({ losses, startMs, slackMs: firstDeadline - lostAt })
    const before = this.waiting.length
    this.waiting = this.waiting.filter(isPaused)
    return before - this.waiting.length
  }

  /** Whether no worker waits for its start. */
  get isEmpty(): boolean {
    return this.waiting.length === 0
  }

  /** A worker has loaded the model. */
  loaded(): void {
    this.failedLoads = 0
    this.lostLoads = 0
  }

  /** A worker could not load the model. */
  loadFailed(error: WeirError): void {
    if (error.code === 'WORKER_LOST') this.lostLoads++
    else this.failedLoads++
    this.loadError = error
  }

  /** Whether no load has succeeded since one failed. */
  get isFailing(): boolean {
    return this.failedLoads + this.lostLoads > 0
  }

  /**
   * The error of requests that wait where so many workers live: undefined while the model is served, or may be soon. Who kills
   * processes (an operator, the system when memory is short) says nothing about the model, so that requests wait then.
   */
  refusal(workers: number): WeirError | undefined {
    const { failedLoads } = this
    return isUnservable({ workers, failedLoads }) ? this.loadError : undefined
  }

  /** Why no worker serves the model, where so many live; undefined while one does, or may be soon. */
  problem(workers: number): WeirError | undefined {
    const failedLoads = this.failedLoads + this.lostLoads
    return isUnservable({ workers, failedLoads }) ? this.loadError : undefined
  }
}
