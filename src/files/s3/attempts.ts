import { type Clock, sleep } from '../../core/clock.ts'
import { isWeirError } from '../../core/errors.ts'
import { Outage, type OutageListener } from '../../core/lifetime/outage.ts'
import type { Random } from '../../core/random.ts'
import { adviceOf, decideS3Retry, errorOfS3Failure, failureOf, isDoubtful } from './failure.ts'

/** Options of the repetition of failed requests. */
export interface S3AttemptsOptions {
  readonly bucket: string
  /** The server, for messages. */
  readonly server: string
  readonly clock: Clock
  readonly random: Random
  /** No attempt begins later than this after the first one, ms. */
  readonly retryForMs: number
  /** Called while requests fail that are repeated, with growing pauses, and when one succeeds again. */
  readonly onOutage?: OutageListener | undefined
}

/** Circumstances of one attempt. */
export interface S3Attempt {
  /** Whether an earlier attempt failed and may have been executed. */
  readonly doubtful: boolean
}

const FIRST_DELAY_MS = 50
const LONGEST_DELAY_MS = 2000

/** Repetition of requests to one bucket that may be repeated. */
export class S3Attempts {
  private readonly options: S3AttemptsOptions
  private readonly outage: Outage

  constructor(options: S3AttemptsOptions) {
    this.options = options
    this.outage = new Outage('S3', options.clock, (notice) => options.onOutage?.(notice))
  }

  /**
   * Repeats `attempt` until it succeeds, fails permanently, or its time is over. Before each further one it waits twice
   * as long as before, times a random number from 0.5 to 1. `what` is the request in words. Throws the error of the last
   * failure (FILE_NOT_FOUND, INVALID_ARGUMENT, PERMISSION_DENIED, UNAUTHENTICATED, CONNECTOR_FAILED); a WeirError of the attempt as it is.
   */
  async repeat<T>(
    what: string,
    key: string,
    attempt: (circumstances: S3Attempt) => Promise<T>,
  ): Promise<T> {
    const { bucket, server, clock, retryForMs } = this.options
    const giveUpAt = clock.monotonicMs() + retryForMs
    let doubtful = false
    for (let attempts = 1; ; attempts++) {
      const startedMs = clock.monotonicMs()
      try {
        const answer = await attempt({ doubtful })
        this.outage.ended()
        return answer
      } catch (error) {
        if (isWeirError(error)) throw error
        const failure = failureOf(error)
        const decision = decideS3Retry(failure, attempts)
        if (decision === 'give-up') this.outage.ended()
        else this.outage.failed(startedMs, `${server}: ${adviceOf(failure, bucket)}`)
        const delay = this.delayAfter(attempts)
        if (decision === 'give-up' || clock.monotonicMs() + delay > giveUpAt) {
          throw errorOfS3Failure(failure, { what, bucket, server, key, attempts })
        }
        doubtful ||= isDoubtful(failure)
        await sleep(clock, delay)
      }
    }
  }

  /** The delay before the next attempt, ms. */
  private delayAfter(attempts: number): number {
    const full = Math.min(FIRST_DELAY_MS * 2 ** (attempts - 1), LONGEST_DELAY_MS)
    return full * (0.5 + this.options.random.next() / 2)
  }
}
