import type { Clock } from '../../core/clock.ts'

/** A thread counts as shared for this long after a short request. */
const SHARED_MS = 20

/**
 * Whether a reading thread serves short requests beside its long ones, which are top-k passes and scans. Long ones
 * leave it more room then.
 */
export class SharedThread {
  private readonly clock: Clock
  private hasServed = false
  private untilMs = 0

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Notes that the thread serves a short request. It is called for each one, so it does not read the clock. */
  served(): void {
    this.hasServed = true
  }

  /** Whether a short request came since the last call or a short time before. */
  isShared(): boolean {
    const now = this.clock.monotonicMs()
    if (this.hasServed) this.untilMs = now + SHARED_MS
    this.hasServed = false
    return now < this.untilMs
  }
}
