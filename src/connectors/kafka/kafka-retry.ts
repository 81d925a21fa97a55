import { type Clock, sleep } from '../../core/clock.ts'
import { isWeirError, messageOf, WeirError } from '../../core/errors.ts'
import type { Random } from '../../core/random.ts'
import { KAFKA_ERRORS, kafkaErrorOf } from './kafka-errors.ts'

const FIRST_DELAY_MS = 20
const LAST_DELAY_MS = 1_000
/** The broker refuses the next transaction for some milliseconds after a commit. */
const CONCURRENT_TRANSACTIONS_DELAY_MS = 2

/** What retrying needs of its surroundings. */
export interface RetryWorld {
  readonly clock: Clock
  readonly random: Random
  /** Turns true when nobody waits for the result any more. */
  readonly closed: boolean
}

/**
 * Tries `attempt` until it succeeds, throws what is not retryable, or `timeoutMs` have passed. The
 * delays double from 20 ms to 1 s, each with half of itself as jitter.
 */
export async function retrying<T>(
  world: RetryWorld,
  doing: string,
  timeoutMs: number,
  attempt: () => Promise<T>,
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

/** Milliseconds to wait after try number `tries`, from 0, failed with `error`. */
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
