import type { Random } from '../../core/random.ts'

/** When and how often a failed job is restarted; the defaults are Flink's. */
export type RestartStrategyOptions =
  | { readonly type: 'none' }
  | {
      readonly type: 'fixed-delay'
      /** Restarts in total. @default 1 */
      readonly attempts: number
      /** @default 1000 */
      readonly delayMs: number
    }
  | {
      readonly type: 'failure-rate'
      /** Failures within the interval that are tolerated. @default 1 */
      readonly maxFailuresPerInterval: number
      /** @default 60000 */
      readonly failureRateIntervalMs: number
      /** @default 1000 */
      readonly delayMs: number
    }
  | {
      readonly type: 'exponential-delay'
      /** @default 1000 */
      readonly initialBackoffMs: number
      /** @default 60000 */
      readonly maxBackoffMs: number
      /** @default 1.5 */
      readonly backoffMultiplier: number
      /** Time without a failure after which the backoff starts over. @default 3600000 */
      readonly resetBackoffThresholdMs: number
      /** Share of the backoff, 0..1, by which a random jitter lengthens or shortens it. @default 0.1 */
      readonly jitterFactor: number
      /** Restarts before the backoff starts over; Infinity for no limit. @default Infinity */
      readonly attemptsBeforeResetBackoff: number
    }

/** Decision about a failure. */
export type RestartDecision =
  /** Start the next attempt after `delayMs`. */
  | { readonly kind: 'restart'; readonly delayMs: number }
  /** Fail the job, for this reason. */
  | { readonly kind: 'fail'; readonly reason: string }

/** History of a strategy: plain data, replaced by every decision. */
export interface RestartHistory {
  /** Failures so far (since the last reset for exponential delay). */
  readonly failures: number
  /** Times of the failures that still count for a rate, oldest first, ms. */
  readonly recentMs: readonly number[]
  /** Last backoff, ms; 0 before the first failure. */
  readonly backoffMs: number
  /** Time of the last failure, ms; -Infinity before the first. */
  readonly lastFailureMs: number
}

/** History before the first failure. */
export const NO_FAILURES: RestartHistory = {
  failures: 0,
  recentMs: [],
  backoffMs: 0,
  lastFailureMs: Number.NEGATIVE_INFINITY,
}

/** Flink's default for a job with periodic checkpoints. */
export const EXPONENTIAL_DELAY: Extract<RestartStrategyOptions, { type: 'exponential-delay' }> = {
  type: 'exponential-delay',
  initialBackoffMs: 1000,
  maxBackoffMs: 60_000,
  backoffMultiplier: 1.5,
  resetBackoffThresholdMs: 3_600_000,
  jitterFactor: 0.1,
  attemptsBeforeResetBackoff: Number.POSITIVE_INFINITY,
}

const NO_RESTART =
  'restart-strategy.type is none, the default of a job without periodic checkpoints'

/** Facts at the time of a failure. */
export interface FailureFacts {
  readonly history: RestartHistory
  readonly nowMs: number
  /** Draws the jitter of exponential delay. */
  readonly random: Random
}

/** Decides about a failure and returns the history for the next decision. */
export function decideRestart(
  options: RestartStrategyOptions,
  { history, nowMs, random }: FailureFacts,
): { readonly decision: RestartDecision; readonly history: RestartHistory } {
  switch (options.type) {
    case 'none':
      return give(history, nowMs, { kind: 'fail', reason: NO_RESTART })
    case 'fixed-delay':
      return give(
        history,
        nowMs,
        history.failures < options.attempts
          ? { kind: 'restart', delayMs: options.delayMs }
          : { kind: 'fail', reason: `all ${options.attempts} restarts are used up` },
      )
    case 'failure-rate':
      return decideByRate(options, history, nowMs)
    case 'exponential-delay':
      return decideByBackoff(options, { history, nowMs, random })
  }
}

type Decided = ReturnType<typeof decideRestart>

function give(history: RestartHistory, nowMs: number, decision: RestartDecision): Decided {
  return {
    decision,
    history: { ...history, failures: history.failures + 1, lastFailureMs: nowMs },
  }
}

function decideByRate(
  options: Extract<RestartStrategyOptions, { type: 'failure-rate' }>,
  history: RestartHistory,
  nowMs: number,
): Decided {
  const since = nowMs - options.failureRateIntervalMs
  const recentMs = [...history.recentMs.filter((at) => at > since), nowMs]
  const allowed = recentMs.length <= options.maxFailuresPerInterval
  const decision: RestartDecision = allowed
    ? { kind: 'restart', delayMs: options.delayMs }
    : {
        kind: 'fail',
        reason: `${recentMs.length} failures within ${options.failureRateIntervalMs} ms, ${options.maxFailuresPerInterval} allowed`,
      }
  return give({ ...history, recentMs }, nowMs, decision)
}

function decideByBackoff(
  options: Extract<RestartStrategyOptions, { type: 'exponential-delay' }>,
  { history, nowMs, random }: FailureFacts,
): Decided {
  const quietMs = nowMs - history.lastFailureMs - history.backoffMs
  const fresh = history.failures === 0 || quietMs >= options.resetBackoffThresholdMs
  const failures = fresh ? 0 : history.failures
  if (failures >= options.attemptsBeforeResetBackoff) {
    const reason = `all ${options.attemptsBeforeResetBackoff} restarts are used up`
    return give({ ...history, failures }, nowMs, { kind: 'fail', reason })
  }
  const backoffMs = fresh
    ? options.initialBackoffMs
    : Math.min(history.backoffMs * options.backoffMultiplier, options.maxBackoffMs)
  const jitter = backoffMs * options.jitterFactor * (2 * random.next() - 1)
  const delayMs = Math.min(Math.round(backoffMs + jitter), options.maxBackoffMs)
  return give({ ...history, failures, backoffMs }, nowMs, { kind: 'restart', delayMs })
}
