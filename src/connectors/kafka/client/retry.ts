import { type Clock, sleep } from '../../../core/clock.ts'
import { isWeirError, messageOf, WeirError } from '../../../core/errors.ts'
import type { Random } from '../../../core/random.ts'
import { KAFKA_ERRORS, kafkaErrorOf } from './errors.ts'

const FIRST_DELAY_MS = 20
const LAST_DELAY_MS = 1_000
/** The broker refuses the next transaction for some milliseconds after a commit. */
const CONCURRENT_TRANSACTIONS_DELAY_MS = 2

/** Surroundings of a retried operation. */
export interface RetryWorld {
  readonly clock: Clock
  readonly random: Random
  /** True when the result is not needed any more. */
  readonly closed: boolean
}

/** An operation that is tried several times. */
export interface RetriedOperation<T> {
  /** The operation in words, for messages. */
  readonly doing: string
  readonly timeoutMs: number
  attempt(): Promise<T>
}

/**
 * Repeats an attempt until it succeeds, fails with an error that is not retryable, or its time is over.
 * The delays double from 20 ms to 1 s; a random half of each is jitter. Throws the last error,
 * ILLEGAL_STATE when the client is closed, or CONNECTOR_FAILED after the timeout.
 */
export async function retrying<T>(
  world: RetryWorld,
  { doing, timeoutMs, attempt }: RetriedOperation<T>,
): Promise<T> {
  const { clock } = world
  const giveUpAt = clock.monotonicMs() + timeoutMs
  for (let tries = 0; ; tries++) {
    try {
      return await attempt()
    } catch (error) {
      if (!isWeirError(error) || !error.retryable) throw error
      if (world.closed) throw closedError(doing)
      const delay = retryDelay(world.random, tries, error)
      if (clock.monotonicMs() + delay > giveUpAt) throw gaveUp(doing, timeoutMs, error)
      await sleep(clock, delay)
      if (world.closed) throw closedError(doing)
    }
  }
}

/** Delay after the failed attempt number `tries`, counted from 0, ms. */
export function retryDelay(random: Random, tries: number, error?: unknown): number {
  if (kafkaErrorOf(error) === KAFKA_ERRORS.CONCURRENT_TRANSACTIONS) {
    return CONCURRENT_TRANSACTIONS_DELAY_MS
  }
  const full = Math.min(LAST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(tries, 10))
  return full * (0.5 + 0.5 * random.next())
}

function closedError(doing: string): WeirError {
  return new WeirError('ILLEGAL_STATE', `${doing}: the Kafka client was closed`)
}

function gaveUp(doing: string, timeoutMs: number, last: WeirError): WeirError {
  const message = `${doing} did not succeed within ${timeoutMs} ms; the last answer: ${messageOf(last)}`
  return new WeirError('CONNECTOR_FAILED', message, { cause: last, details: last.details })
}
