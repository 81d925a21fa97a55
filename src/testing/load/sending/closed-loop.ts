import { sleep } from '../../../core/clock.ts'
import type { LoadLoop, LoopParts } from './loop.ts'

/** Pause of a caller after a failure, so that a dead server is not asked in a busy loop. */
const PAUSE_MS = 5

/**
 * A number of callers; each sends its next request when its last one has ended. The rate follows the server:
 * a server that stalls gets fewer requests, so the latencies are those of so many callers, not of users who
 * come at their own times (`OpenLoop`).
 */
export class ClosedLoop implements LoadLoop {
  readonly finished: Promise<void>
  private readonly parts: LoopParts
  private left: number

  /** `limit`: requests of all callers together. */
  constructor(parts: LoopParts, callers: number, limit: number) {
    this.parts = parts
    this.left = limit
    const running = Array.from({ length: callers }, () => this.call())
    this.finished = Promise.all(running).then(() => undefined)
  }

  private async call(): Promise<void> {
    const { target, keys, recorder, clock } = this.parts
    while (this.left > 0) {
      this.left -= 1
      const sentMs = clock.monotonicMs()
      recorder.sent(0)
      const outcome = await target.send(keys.next())
      recorder.ended(outcome, clock.monotonicMs() - sentMs)
      if (outcome.kind !== 'ok') await sleep(clock, PAUSE_MS)
    }
  }

  stop(): void {
    this.left = 0
  }
}
