import type { Cancel, Clock } from '../../../core/clock.ts'

/** Work that is repeated in the background until it is closed. */
export class BackgroundWork {
  private readonly clock: Clock
  private readonly timers = new Map<object, Cancel>()
  /** Work in progress, which `close` waits for. */
  private readonly running = new Set<Promise<void>>()
  private closed = false

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Repeats `work`, `intervalMs` after each end of it. A run that fails is followed by the next one. */
  every(intervalMs: number, work: () => Promise<void>): void {
    if (this.closed) return
    const timer = {}
    const cancel = this.clock.after(intervalMs, () => {
      this.timers.delete(timer)
      const running = work()
        .catch(() => undefined)
        .then(() => {
          this.running.delete(running)
          this.every(intervalMs, work)
        })
      this.running.add(running)
    })
    this.timers.set(timer, cancel)
  }

  /** Begins no more work, and waits for what runs. */
  async close(): Promise<void> {
    this.closed = true
    for (const cancel of this.timers.values()) cancel()
    await Promise.all(this.running)
  }
}
