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
  private repeated = { message: '', times: 0 }
  private silent = { checkpoint: -1, times: 0 }
  private atRecord = { place: '', times: 0 }
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
   * an operator that several attempts met with the same message before they ran, or at the same record; so does a slot
   * that does not answer in several attempts, with no checkpoint (`completedCheckpoint`) between them.
   */
  decide(error: WeirError, phase: FailurePhase, completedCheckpoint = 0): RestartDecision {
    const code = codeOfFailure(error)
    const passes =
      phase === 'not-deployed' ? ERROR_CODES[code].retryable : mayPassAfterRestart(code)
    if (!passes) return { kind: 'fail', reason: `${code} does not pass without a change` }
    const times = this.countRepeated(error, phase)
    const silent = this.countSilent(error, completedCheckpoint)
    if (silent >= SAME_FAILURES) {
      const reason = `${silent} attempts in a row ended so, and no checkpoint completed meanwhile: code of the job keeps its thread busy for longer than heartbeat.timeout`
      return { kind: 'fail', reason }
    }
    if (code === 'OPERATOR_FAILED' && times >= SAME_FAILURES) {
      const reason = `${times} attempts in a row failed with this message before they ran`
      return { kind: 'fail', reason }
    }
    const record = error.details['record']
    const timesAtRecord = this.countAtRecord(error)
    if (code === 'OPERATOR_FAILED' && timesAtRecord >= SAME_FAILURES) {
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
    const message = messageOf(error.cause ?? error)
    const times = this.repeated.message === message ? this.repeated.times + 1 : 1
    this.repeated = phase === 'running' ? { message: '', times: 0 } : { message, times }
    return this.repeated.times
  }

  /** Attempts in a row of which a slot did not answer, since the last checkpoint. */
  private countSilent(error: WeirError, checkpoint: number): number {
    const isSilent = error.details['unanswered'] === true
    const isAgain = isSilent && this.silent.checkpoint === checkpoint
    this.silent = { checkpoint, times: isAgain ? this.silent.times + 1 : isSilent ? 1 : 0 }
    return this.silent.times
  }

  /** Attempts in a row that failed with this message in this operator at this record. */
  private countAtRecord(error: WeirError): number {
    const { record, operator } = error.details
    if (record === undefined) {
      this.atRecord = { place: '', times: 0 }
      return 0
    }
    const place = JSON.stringify([operator, record, messageOf(error.cause ?? error)])
    const times = this.atRecord.place === place ? this.atRecord.times + 1 : 1
    this.atRecord = { place, times }
    return times
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
