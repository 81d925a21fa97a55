import type { Cancel } from '../../../core/clock.ts'
import type { Arrivals } from './arrivals.ts'
import type { LoadLoop, LoopParts } from './loop.ts'

/** Most requests sent before the answers that have arrived are read. */
const MOST_AT_ONCE = 256

/** Options of an open loop. */
export interface OpenLoopOptions {
  readonly arrivals: Arrivals
  /** Time zero of the arrivals, monotonic ms. */
  readonly startMs: number
  /** Requests after which the load ends. */
  readonly limit: number
  /** Most requests that wait for an answer; further ones wait here, with their time running. */
  readonly maxOutstanding: number
}

/**
 * Requests at given times, whatever the server does. Latencies count from the time at which a request was
 * due, not from when it was sent: a server that stalls shows its stall in every request that was due
 * meanwhile (Gil Tene's "coordinated omission").
 */
export class OpenLoop implements LoadLoop {
  readonly finished: Promise<void>
  private readonly parts: LoopParts
  private readonly options: OpenLoopOptions
  private readonly end = Promise.withResolvers<void>()
  private cancel: Cancel = () => undefined
  private dueMs = 0
  private left: number
  private outstanding = 0
  /** Requests that were due before this time were held back. */
  private heldUntilMs = Number.NEGATIVE_INFINITY

  constructor(parts: LoopParts, options: OpenLoopOptions) {
    this.parts = parts
    this.options = options
    this.left = options.limit
    this.finished = this.end.promise
    this.advance()
    this.turn()
  }

  /** Moves to the next arrival; the load ends after the last. */
  private advance(): void {
    const atMs = this.left > 0 ? this.options.arrivals.nextMs() : Number.POSITIVE_INFINITY
    if (atMs === Number.POSITIVE_INFINITY) this.left = 0
    this.dueMs = this.options.startMs + atMs
  }

  private readonly turn = (): void => {
    const { clock, pacer } = this.parts
    for (let sent = 0; sent < MOST_AT_ONCE && this.left > 0; sent++) {
      const nowMs = clock.monotonicMs()
      if (this.dueMs > nowMs) break
      if (this.outstanding >= this.options.maxOutstanding) {
        this.heldUntilMs = nowMs
        break
      }
      this.send(nowMs)
    }
    if (this.left === 0) {
      this.endIfAnswered()
      return
    }
    const isHeld = this.outstanding >= this.options.maxOutstanding
    this.cancel = pacer(isHeld ? 1 : Math.max(0, this.dueMs - clock.monotonicMs()), this.turn)
  }

  private send(nowMs: number): void {
    const { target, keys, recorder, clock } = this.parts
    const { dueMs } = this
    if (dueMs <= this.heldUntilMs) recorder.sentHeldBack()
    else recorder.sent(nowMs - dueMs)
    this.outstanding += 1
    this.left -= 1
    void target.send(keys.next()).then((outcome) => {
      recorder.ended(outcome, clock.monotonicMs() - dueMs)
      this.outstanding -= 1
      if (this.left === 0) this.endIfAnswered()
    })
    this.advance()
  }

  private endIfAnswered(): void {
    if (this.outstanding === 0) this.end.resolve()
  }

  stop(): void {
    this.cancel()
    this.left = 0
    this.endIfAnswered()
  }
}
