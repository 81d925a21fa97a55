import type { WeirError } from '../core/errors.ts'
import type { Random } from '../core/random.ts'
import type { RetryOptions } from './client-options.ts'

/**
 * Full jitter: a wait drawn evenly from 0 to a bound that doubles with each failure (Brooker,
 * "Exponential Backoff And Jitter", AWS Architecture Blog, 2015). `failures` counts from 0.
 */
export function backoffMs(failures: number, options: RetryOptions, random: Random): number {
  const bound = Math.min(options.maxMs, options.baseMs * 2 ** Math.min(failures, 30))
  return random.next() * bound
}

/** What to do about a failed try. */
export type RetryDecision =
  /** Another try can help. */
  | { readonly kind: 'retry'; readonly waitMs: number }
  /** The error stands. */
  | { readonly kind: 'give-up' }
  /** Another try would come after the deadline. */
  | { readonly kind: 'too-late' }

/**
 * Decides about try number `attempt` (from 1), which failed with `error` when `leftMs` were left.
 * While no server can be reached only the deadline counts, so that a restart is survived.
 */
export function decideRetry(
  error: WeirError,
  attempt: number,
  leftMs: number,
  options: RetryOptions,
  random: Random,
): RetryDecision {
  if (!error.retryable || error.code === 'DEADLINE_EXCEEDED') return { kind: 'give-up' }
  if (error.code !== 'UNAVAILABLE' && attempt >= options.maxAttempts) return { kind: 'give-up' }
  const waitMs = backoffMs(attempt - 1, options, random)
  if (waitMs < leftMs) return { kind: 'retry', waitMs }
  return { kind: error.code === 'UNAVAILABLE' ? 'too-late' : 'give-up' }
}
