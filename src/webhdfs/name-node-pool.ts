import { type Clock, sleep } from '../core/clock.ts'
import type { Random } from '../core/random.ts'
import type { NameNodeAddress } from './webhdfs-address.ts'
import {
  decideRetry,
  errorOfFailure,
  WebHdfsAttemptError,
  type WebHdfsFailure,
} from './webhdfs-failure.ts'

/** How long and how often failed requests are repeated. */
export interface RetryOptions {
  readonly clock: Clock
  readonly random: Random
  /** No attempt begins later than this after the first, in milliseconds. */
  readonly retryForMs: number
}

/** What an attempt is told. */
export interface Attempt {
  readonly nameNode: NameNodeAddress
  /** An earlier attempt got no answer and may have been executed. */
  readonly doubtful: boolean
  /** Numeric address of a DataNode that just did not answer. */
  readonly avoid: string | undefined
}

const FIRST_DELAY_MS = 50
const LONGEST_DELAY_MS = 2000

/** Knows which NameNode is active, and repeats what may be repeated. */
export class NameNodePool {
  private readonly nameNodes: readonly NameNodeAddress[]
  private readonly options: RetryOptions
  private activeIndex = 0

  constructor(nameNodes: readonly NameNodeAddress[], options: RetryOptions) {
    this.nameNodes = nameNodes
    this.options = options
  }

  /** Whether the active NameNode may be another one tomorrow. */
  get isPair(): boolean {
    return this.nameNodes.length > 1
  }

  /**
   * Runs `attempt` until it succeeds, fails for good, or time is up. Waits twice as long each time,
   * times a random number from 0.5 to 1, after all NameNodes were asked. Throws the error of the
   * last failure (FILE_NOT_FOUND, FILE_EXISTS, PERMISSION_DENIED, UNAUTHENTICATED, CONNECTOR_FAILED).
   */
  async attempt<T>(
    what: string,
    place: string,
    attempt: (facts: Attempt) => Promise<T>,
  ): Promise<T> {
    const { clock, retryForMs } = this.options
    const giveUpAt = clock.monotonicMs() + retryForMs
    let doubtful = false
    let avoid: string | undefined
    for (let attempts = 1; ; attempts++) {
      const index = this.activeIndex
      try {
        return await attempt({ nameNode: this.nameNodes[index]!, doubtful, avoid })
      } catch (error) {
        if (!(error instanceof WebHdfsAttemptError)) throw error
        const { failure } = error
        const decision = decideRetry(failure)
        const delay = this.delayAfter(attempts)
        if (decision === 'give-up' || clock.monotonicMs() + delay > giveUpAt) {
          throw errorOfFailure(what, place, failure, attempts)
        }
        doubtful ||= failure.kind === 'no-answer' && failure.sent
        avoid = addressToAvoid(failure)
        if (decision === 'ask-other') this.leave(index)
        if (delay > 0) await sleep(clock, delay)
      }
    }
  }

  /** Goes on to the next NameNode, unless another request did so already. */
  private leave(index: number): void {
    if (this.activeIndex === index) this.activeIndex = (index + 1) % this.nameNodes.length
  }

  /** The first round over all NameNodes goes without a pause. */
  private delayAfter(attempts: number): number {
    const { random } = this.options
    const round = Math.floor(attempts / this.nameNodes.length)
    if (attempts % this.nameNodes.length !== 0) return 0
    const full = Math.min(FIRST_DELAY_MS * 2 ** (round - 1), LONGEST_DELAY_MS)
    return full * (0.5 + random.next() / 2)
  }
}

/** A DataNode that just refused is avoided once: the NameNode learns of its death only later. */
function addressToAvoid(failure: WebHdfsFailure): string | undefined {
  return failure.kind === 'no-answer' && failure.party === 'data-node' ? failure.address : undefined
}
