import type { Clock } from '../core/clock.ts'
import { messageOf, type WeirError } from '../core/errors.ts'
import type { Random } from '../core/random.ts'
import {
  decideRestart,
  NO_FAILURES,
  type RestartDecision,
  type RestartHistory,
  type RestartStrategyOptions,
} from './restart-strategy.ts'

/** A failure as the job's history keeps it. */
export interface JobFailure {
  readonly attempt: number
  readonly atMs: number
  readonly error: WeirError
}

/** What failed in a job so far, and whether and when it is started again. */
export class JobRestarts {
  readonly failures: JobFailure[] = []
  private readonly strategy: RestartStrategyOptions
  private readonly clock: Clock
  private readonly random: Random
  private history: RestartHistory = NO_FAILURES
  private endWait: (() => void) | undefined

  constructor(strategy: RestartStrategyOptions, clock: Clock, random: Random) {
    this.strategy = strategy
    this.clock = clock
    this.random = random
  }

  /** Keeps a failure. */
  note(attempt: number, error: WeirError): void {
    this.failures.push({ attempt, atMs: this.clock.nowMs(), error })
  }

  /** `fatal`: nothing was deployed, and another attempt would fail alike unless the error is retryable. */
  decide(error: WeirError, fatal: boolean): RestartDecision {
    const { decision, history } = decideRestart(
      this.strategy,
      this.history,
      this.clock.monotonicMs(),
      this.random,
    )
    this.history = history
    return fatal && !error.retryable ? { kind: 'fail', reason: messageOf(error) } : decision
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

  /** The job ends: there is nothing to wait for. */
  stopWaiting(): void {
    this.endWait?.()
  }
}
