import { requireArgument } from '../../core/errors.ts'

/** Which calls of an asynchronous function are repeated, how often, and after which time. */
export interface AsyncRetryStrategy<OUT = unknown> {
  /** Calls of one record, with the first one. */
  readonly maxAttempts: number
  /** Time before the next call when there were `attempts` calls, ms. */
  delayMs(attempts: number): number
  /** Whether a call that failed is repeated. */
  retriesError(error: unknown): boolean
  /** Whether a call is repeated because of its results. */
  retriesResults(results: readonly OUT[]): boolean
}

/** What all retry strategies have in common. */
export interface AsyncRetryOptions<OUT> {
  /** Calls of one record, with the first one, from 1. */
  readonly maxAttempts: number
  /** @default every error */
  readonly ifError?: (error: unknown) => boolean
  /** @default no results */
  readonly ifResults?: (results: readonly OUT[]) => boolean
}

/** Options of `fixedDelayRetry`. */
export interface FixedDelayRetryOptions<OUT> extends AsyncRetryOptions<OUT> {
  /** Time before each further call, ms from 0. */
  readonly delayMs: number
}

/** Options of `exponentialBackoffRetry`. */
export interface ExponentialBackoffRetryOptions<OUT> extends AsyncRetryOptions<OUT> {
  /** Time before the second call, ms from 0. */
  readonly initialDelayMs: number
  /** Longest time between two calls, ms. */
  readonly maxDelayMs: number
  /** Each time is longer by this factor, from 1. @default 2 */
  readonly multiplier?: number
}

/** Repeats a call after the same time again and again. Throws INVALID_ARGUMENT. */
export function fixedDelayRetry<OUT = unknown>(
  options: FixedDelayRetryOptions<OUT>,
): AsyncRetryStrategy<OUT> {
  const { delayMs } = options
  requireDelay('delayMs', delayMs)
  return retryStrategy(options, () => delayMs)
}

/** Repeats a call after times that grow by a factor. Throws INVALID_ARGUMENT. */
export function exponentialBackoffRetry<OUT = unknown>(
  options: ExponentialBackoffRetryOptions<OUT>,
): AsyncRetryStrategy<OUT> {
  const { initialDelayMs, maxDelayMs, multiplier = 2 } = options
  requireDelay('initialDelayMs', initialDelayMs)
  requireDelay('maxDelayMs', maxDelayMs)
  requireArgument(
    Number.isFinite(multiplier) && multiplier >= 1,
    `the multiplier of a retry strategy is a number from 1, not ${multiplier}`,
  )
  return retryStrategy(options, (attempts) =>
    Math.min(maxDelayMs, initialDelayMs * multiplier ** (attempts - 1)),
  )
}

function retryStrategy<OUT>(
  options: AsyncRetryOptions<OUT>,
  delayMs: (attempts: number) => number,
): AsyncRetryStrategy<OUT> {
  const { maxAttempts, ifError = () => true, ifResults = () => false } = options
  requireArgument(
    Number.isSafeInteger(maxAttempts) && maxAttempts >= 1,
    `maxAttempts of a retry strategy is a whole number from 1, not ${maxAttempts}`,
  )
  return { maxAttempts, delayMs, retriesError: ifError, retriesResults: ifResults }
}

function requireDelay(name: string, delayMs: number): void {
  requireArgument(
    Number.isFinite(delayMs) && delayMs >= 0,
    `${name} of a retry strategy is a number of ms from 0, not ${delayMs}`,
  )
}
