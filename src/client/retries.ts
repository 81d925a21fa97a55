import { sleep } from '../core/clock.ts'
import { isWeirError, WeirError } from '../core/errors.ts'
import { answerErrorOf } from '../wire/answer.ts'
import { channels } from './diagnostics.ts'
import type { ResolvedClientOptions } from './options.ts'
import { hintOf } from './owners/key-owners.ts'
import { decideRetry } from './retry-decision.ts'

/** One try of a call that failed. */
export interface FailedTry {
  readonly error: WeirError
  /** Error of the try before it, if any. */
  readonly before: WeirError | undefined
  /** 1 for a first try. */
  readonly attempt: number
  /** Monotonic ms. */
  readonly deadlineAt: number
}

/** The retries of a client: every call that fails comes here, whatever it asks for. */
export class Retries {
  private readonly options: ResolvedClientOptions
  private isClosed = false

  constructor(options: ResolvedClientOptions) {
    this.options = options
  }

  /** Calls `again` after a wait where another try can help, or else `giveUp` with the call's error. */
  next(tried: FailedTry, again: () => void, giveUp: (error: WeirError) => void): void {
    const { clock, retry, random } = this.options
    const { error, before, attempt, deadlineAt } = tried
    const leftMs = deadlineAt - clock.monotonicMs()
    const decision = decideRetry({ error, attempt, leftMs }, retry, random)
    if (decision.kind !== 'retry' || this.isClosed) {
      giveUp(decision.kind === 'too-late' ? tooLate(error) : withReason(error, before))
      return
    }
    const { waitMs } = decision
    channels.retry.publish({ code: error.code, attempt, waitMs })
    clock.after(waitMs, () => (this.isClosed ? giveUp(error) : again()))
  }

  /**
   * The result of `work`, which is tried again while that can help; rejects with the error of the last
   * try. `hint` is the server that it named. `first` is a try that has failed before.
   */
  async run<T>(
    deadlineAt: number,
    work: (hint: string | undefined) => Promise<T>,
    first?: WeirError,
  ): Promise<T> {
    let error = first
    let before: WeirError | undefined
    for (let attempt = first === undefined ? 0 : 1; ; attempt++) {
      if (error !== undefined) await this.wait({ error, before, attempt, deadlineAt })
      before = error
      try {
        return await work(hintOf(before))
      } catch (thrown) {
        error = answerErrorOf(thrown)
      }
    }
  }

  private wait(tried: FailedTry): Promise<void> {
    return new Promise((resolve, reject) => this.next(tried, resolve, reject))
  }

  /** Ends all retries: calls that wait for one fail with their last error. */
  close(): void {
    this.isClosed = true
  }
}

/** The error of a call: a last try that had a few ms left and got no answer says less than the one before it. */
function withReason(error: WeirError, before: WeirError | undefined): WeirError {
  if (before === undefined || !isWeirError(error, 'DEADLINE_EXCEEDED')) return error
  return tooLate(before)
}

function tooLate(error: WeirError): WeirError {
  return new WeirError(
    'DEADLINE_EXCEEDED',
    `no answer before the deadline; the last try failed: ${error.message}`,
    { cause: error, details: { ...error.details, lastError: error.code } },
  )
}

/** Time between two attempts to reach a job that starts, ms. */
const CONNECT_AGAIN_MS = 50

/** Connects; with `waitForJob`, again until the deadline while no process listens. Rejects as the last attempt. */
export async function whileJobStarts<T>(
  {
    clock,
    deadlineMs,
    waitForJob,
  }: Pick<ResolvedClientOptions, 'clock' | 'deadlineMs' | 'waitForJob'>,
  connect: () => Promise<T>,
): Promise<T> {
  const lastMs = clock.monotonicMs() + deadlineMs - CONNECT_AGAIN_MS
  for (;;) {
    try {
      return await connect()
    } catch (error) {
      const mayStart = waitForJob && isWeirError(error, 'UNAVAILABLE')
      if (!mayStart || clock.monotonicMs() >= lastMs) throw error
    }
    await sleep(clock, CONNECT_AGAIN_MS)
  }
}
