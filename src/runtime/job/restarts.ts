import type { Clock } from '../../core/clock.ts'
import { ERROR_CODES, mayPassAfterRestart, messageOf, type WeirError } from '../../core/errors.ts'
import type { Random } from '../../core/random.ts'
import {
  decideRestart,
  NO_FAILURES,
  type RestartDecision,
  type RestartHistory,
  type RestartStrategyOptions,
} from '../configuration/restart-strategy.ts'
import { codeOfFailure } from '../protocol/slot-host.ts'

/** Attempts in a row that may fail with the same message, before they run or at the same record. */
const SAME_FAILURES = 5

/** How far an attempt had come when it failed. */
export type FailurePhase = 'not-deployed' | 'starting' | 'running'

/** One failure in the history of a job. */
export interface JobFailure {
  readonly attempt: number
  readonly atMs: number
  readonly error: WeirError
}

/** The failures of a job so far, and the decisions whether and when it is restarted. */
export class JobRestarts {
  readonly failures: JobFailure[] = []
  private readonly strategy: RestartStrategyOptions
  private readonly clock: Clock
  private readonly random: Random
  private history: RestartHistory = NO_FAILURES
  private readonly beforeRunning = new Repetition()
  private readonly sinceCheckpoint = new Repetition()
  private readonly atRecord = new Repetition()
  private endWait: (() => void) | undefined

  constructor(strategy: RestartStrategyOptions, clock: Clock, random: Random) {
    this.strategy = strategy
    this.clock = clock
    this.random = random
  }

  /** Records a failure. */
  record(attempt: number, error: WeirError): void {
    this.failures.push({ attempt, atMs: this.clock.nowMs(), error })
  }

  /**
   * Decides about a failure. An error that cannot pass by itself ends the job, and so does an error of
   * an operator that several attempts met with the same message before they ran, or at the same record; so does the loss
   * of a slot, or the same error of asynchronous code, in several attempts with no checkpoint (`completedCheckpoint`)
   * between them.
   */
  decide(error: WeirError, phase: FailurePhase, completedCheckpoint = 0): RestartDecision {
    const code = codeOfFailure(error)
    const passes =
      phase === 'not-deployed' ? ERROR_CODES[code].retryable : mayPassAfterRestart(code)
    if (!passes) return { kind: 'fail', reason: `${code} does not pass without a change` }
    const times = this.countRepeated(error, phase)
    const since = this.countSinceCheckpoint(error, completedCheckpoint)
    if (since >= SAME_FAILURES) {
      const isSilent = error.details['lostBy'] === 'silence'
      const why = isSilent
        ? ': code of the job keeps its thread busy for longer than heartbeat.timeout'
        : ''
      const reason = `${since} attempts in a row ended so, and no checkpoint completed meanwhile${why}`
      return { kind: 'fail', reason }
    }
    // ILLEGAL_STATE: a function that uses state when it may not.
    const isOfUser = code === 'OPERATOR_FAILED' || code === 'ILLEGAL_STATE'
    if (isOfUser && times >= SAME_FAILURES) {
      const reason = `${times} attempts in a row failed with this message before they ran`
      return { kind: 'fail', reason }
    }
    const record = error.details['record']
    const timesAtRecord = this.countAtRecord(error)
    if (isOfUser && timesAtRecord >= SAME_FAILURES) {
      const reason = `${timesAtRecord} attempts in a row failed with this message at the record ${record}`
      return { kind: 'fail', reason }
    }
    const { decision, history } = decideRestart(this.strategy, {
      history: this.history,
      nowMs: this.clock.monotonicMs(),
      random: this.random,
    })
    this.history = history
    return decision
  }

  /**
   * Attempts in a row that failed with this message and never ran. The slot that reports a failure first
   * differs, so the message is that of the cause.
   */
  private countRepeated(error: WeirError, phase: FailurePhase): number {
    return this.beforeRunning.count(phase === 'running' ? undefined : causeOf(error))
  }

  /** Attempts in a row since the last checkpoint that lost a slot in this way, or ended with this error of asynchronous code. */
  private countSinceCheckpoint(error: WeirError, checkpoint: number): number {
    const { lostBy, stray } = error.details
    const how = lostBy ?? stray
    // The message of a silent slot has its number, which may change.
    const message = lostBy === 'silence' ? '' : causeOf(error)
    const place = JSON.stringify([how, message, checkpoint])
    return this.sinceCheckpoint.count(how === undefined ? undefined : place)
  }

  /** Attempts in a row that failed with this message in this operator at this record. */
  private countAtRecord(error: WeirError): number {
    const { record, operator } = error.details
    const place = JSON.stringify([operator, record, causeOf(error)])
    return this.atRecord.count(record === undefined ? undefined : place)
  }

  /** Resolves after the delay, or as soon as `stopWaiting` is called. */
  wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.clock.after(delayMs, resolve)
      this.endWait = () => {
        cancel()
        resolve()
      }
    })
  }

  /** Ends the wait at once: the job ends. */
  stopWaiting(): void {
    this.endWait?.()
  }
}

/** How often in a row the same has happened. */
class Repetition {
  private what: string | undefined
  private times = 0

  /** Counts what has happened; something that is not counted ends the row. */
  count(what: string | undefined): number {
    this.times = what === undefined ? 0 : what === this.what ? this.times + 1 : 1
    this.what = what
    return this.times
  }
}

function causeOf(error: WeirError): string {
  return messageOf(error.cause ?? error)
}
