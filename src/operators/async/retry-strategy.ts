import { aFunction, count, milliseconds, numberIn, required } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'

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

const RETRY: OptionShape<AsyncRetryOptions<unknown>> = {
  maxAttempts: required(count),
  ifError: aFunction(),
  ifResults: aFunction(),
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

const FIXED_DELAY: OptionShape<FixedDelayRetryOptions<unknown>> = {
  ...RETRY,
  delayMs: required(milliseconds),
}
const EXPONENTIAL_BACKOFF: OptionShape<ExponentialBackoffRetryOptions<unknown>> = {
  ...RETRY,
  initialDelayMs: required(milliseconds),
  maxDelayMs: required(milliseconds),
  multiplier: numberIn({ min: 1 }),
}

/** Repeats a call after the same time again and again. Throws INVALID_ARGUMENT. */
export function fixedDelayRetry<OUT = unknown>(
  options: FixedDelayRetryOptions<OUT>,
): AsyncRetryStrategy<OUT> {
  checkOptions('fixedDelayRetry', FIXED_DELAY, options)
  const { delayMs } = options
  return retryStrategy(options, () => delayMs)
}

/** Repeats a call after times that grow by a factor. Throws INVALID_ARGUMENT. */
export function exponentialBackoffRetry<OUT = unknown>(
  options: ExponentialBackoffRetryOptions<OUT>,
): AsyncRetryStrategy<OUT> {
  checkOptions('exponentialBackoffRetry', EXPONENTIAL_BACKOFF, options)
  const { initialDelayMs, maxDelayMs, multiplier = 2 } = options
  return retryStrategy(options, (attempts) =>
    Math.min(maxDelayMs, initialDelayMs * multiplier ** (attempts - 1)),
  )
}

function retryStrategy<OUT>(
  options: AsyncRetryOptions<OUT>,
  delayMs: (attempts: number) => number,
): AsyncRetryStrategy<OUT> {
  const { maxAttempts, ifError = () => true, ifResults = () => false } = options
  return { maxAttempts, delayMs, retriesError: ifError, retriesResults: ifResults }
}
