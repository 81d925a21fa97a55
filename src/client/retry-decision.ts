import type { ErrorCode, WeirError } from '../core/errors.ts'
import type { Random } from '../core/random.ts'
import type { RetryOptions } from './options.ts'

/**
 * Full jitter: a wait drawn evenly from 0 to a bound that doubles with each failure (Brooker,
 * "Exponential Backoff And Jitter", AWS Architecture Blog, 2015). `failures` counts from 0.
 */
export function backoffMs(failures: number, options: RetryOptions, random: Random): number {
  const bound = Math.min(options.maxMs, options.baseMs * 2 ** Math.min(failures, 30))
  return random.next() * bound
}

/** A try that failed, with the time that is left. */
export interface EndedTry {
  readonly error: WeirError
  /** 1 for a first try. */
  readonly attempt: number
  readonly leftMs: number
}

/** Decision after a failed try. */
export type RetryDecision =
  /** Another try can help. */
  | { readonly kind: 'retry'; readonly waitMs: number }
  /** Another try cannot help. */
  | { readonly kind: 'give-up' }
  /** Another try would come after the deadline. */
  | { readonly kind: 'too-late' }

/** Errors of a job that restarts. How long that takes depends on the job's state, not on the number of tries. */
const PASSES_BY_ITSELF: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'UNAVAILABLE',
  'RESTORING',
  'SLOT_LOST',
])

/** Least wait: tries become denser towards the deadline, and end. */
const LEAST_WAIT_MS = 1

/**
 * Decides what follows a failed try. While no server can be reached, or the job starts or restores, only the
 * deadline limits the tries, so that calls survive a restart: no wait reaches past the deadline.
 */
export function decideRetry(
  { error, attempt, leftMs }: EndedTry,
  options: RetryOptions,
  random: Random,
): RetryDecision {
  if (!error.retryable || error.code === 'DEADLINE_EXCEEDED') return { kind: 'give-up' }
  const passes = PASSES_BY_ITSELF.has(error.code) || isMove(error)
  if (!passes && attempt >= options.maxAttempts) return { kind: 'give-up' }
  const maxMs = passes ? Math.min(options.maxMs, leftMs) : options.maxMs
  const drawnMs = backoffMs(attempt - 1, { ...options, maxMs }, random)
  const waitMs = Math.max(LEAST_WAIT_MS, drawnMs, askedWaitMs(error))
  if (waitMs < leftMs) return { kind: 'retry', waitMs }
  return { kind: error.code === 'UNAVAILABLE' ? 'too-late' : 'give-up' }
}

/** Whether a job partition moves: two processes may name each other until both know the newest generation. */
function isMove({ code, details }: WeirError): boolean {
  return code === 'NOT_OWNER' && typeof details['epoch'] === 'number'
}

/** Time that the server asks the client to wait: the rate of its token is used up. */
function askedWaitMs({ details }: WeirError): number {
  const { retryAfterMs } = details
  return typeof retryAfterMs === 'number' ? retryAfterMs : 0
}
