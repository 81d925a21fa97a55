import { type Clock, sleep } from '../../core/clock.ts'
import { Outage, type OutageListener } from '../../core/lifetime/outage.ts'
import type { Random } from '../../core/random.ts'
import type { NameNodeAddress } from './address.ts'
import {
  adviceOf,
  decideRetry,
  errorOfFailure,
  WebHdfsAttemptError,
  type WebHdfsFailure,
} from './failure.ts'

/** Options of the repetition of failed requests. */
export interface RetryOptions {
  readonly clock: Clock
  readonly random: Random
  /** No attempt begins later than this after the first one, ms. */
  readonly retryForMs: number
  /** Called while requests fail that are repeated, with growing pauses, and when one succeeds again. */
  readonly onOutage?: OutageListener | undefined
}

/** Circumstances of one attempt. */
export interface Attempt {
  readonly nameNode: NameNodeAddress
  /** Whether an earlier attempt got no answer and may have been executed. */
  readonly doubtful: boolean
  /** Numeric address of a DataNode that did not answer the last attempt. */
  readonly avoid: string | undefined
}

const FIRST_DELAY_MS = 50
const LONGEST_DELAY_MS = 2000

/** A request that is attempted several times. */
export interface AttemptTarget {
  /** The request in words, for messages. */
  readonly what: string
  /** The path, for the details of errors. */
  readonly place: string
}

/** Tracks which NameNode is active, and repeats requests that may be repeated. */
export class NameNodePool {
  private readonly nameNodes: readonly NameNodeAddress[]
  private readonly options: RetryOptions
  private readonly outage: Outage
  private activeIndex = 0

  constructor(nameNodes: readonly NameNodeAddress[], options: RetryOptions) {
    this.nameNodes = nameNodes
    this.options = options
    this.outage = new Outage('HDFS', options.clock, (notice) => options.onOutage?.(notice))
  }

  /** Whether the active NameNode can change. */
  get isPair(): boolean {
    return this.nameNodes.length > 1
  }

  /**
   * Repeats `attempt` until it succeeds, fails permanently, or its time is over. After each round over
   * all NameNodes it waits twice as long as before, times a random number from 0.5 to 1. Throws the
   * error of the last failure (FILE_NOT_FOUND, FILE_EXISTS, PERMISSION_DENIED, UNAUTHENTICATED, CONNECTOR_FAILED).
   */
  async attempt<T>(
    target: AttemptTarget,
    attempt: (circumstances: Attempt) => Promise<T>,
  ): Promise<T> {
    const { clock, retryForMs } = this.options
    const giveUpAt = clock.monotonicMs() + retryForMs
    let doubtful = false
    let avoid: string | undefined
    for (let attempts = 1; ; attempts++) {
      const index = this.activeIndex
      const startedMs = clock.monotonicMs()
      try {
        const answer = await attempt({ nameNode: this.nameNodes[index]!, doubtful, avoid })
        this.outage.ended()
        return answer
      } catch (error) {
        if (!(error instanceof WebHdfsAttemptError)) throw error
        const { failure } = error
        const decision = decideRetry(failure)
        if (decision === 'give-up') this.outage.ended()
        else this.outage.failed(startedMs, nameNodeFailure(this.nameNodes[index]!, failure))
        const delay = this.delayAfter(attempts)
        if (decision === 'give-up' || clock.monotonicMs() + delay > giveUpAt) {
          throw errorOfFailure(failure, { ...target, attempts })
        }
        doubtful ||= failure.kind === 'no-answer' && failure.sent
        avoid = addressToAvoid(failure)
        if (decision === 'ask-other') this.switchFrom(index)
        if (delay > 0) await sleep(clock, delay)
      }
    }
  }

  /** Switches to the next NameNode, unless another request has done so. */
  private switchFrom(index: number): void {
    if (this.activeIndex === index) this.activeIndex = (index + 1) % this.nameNodes.length
  }

  /** The delay before the next attempt, ms; 0 within a round over all NameNodes. */
  private delayAfter(attempts: number): number {
    const { random } = this.options
    const round = Math.floor(attempts / this.nameNodes.length)
    if (attempts % this.nameNodes.length !== 0) return 0
    const full = Math.min(FIRST_DELAY_MS * 2 ** (round - 1), LONGEST_DELAY_MS)
    return full * (0.5 + random.next() / 2)
  }
}

/** A failure with the address of the NameNode, for people. */
function nameNodeFailure({ host, port }: NameNodeAddress, failure: WebHdfsFailure): string {
  return `${host}:${port}: ${adviceOf(failure)}`
}

/** A DataNode that did not answer is avoided once, because the NameNode detects its failure later. */
function addressToAvoid(failure: WebHdfsFailure): string | undefined {
  return failure.kind === 'no-answer' && failure.party === 'data-node' ? failure.address : undefined
}
