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
      this.run(work, () => this.every(intervalMs, work))
    })
    this.timers.set(timer, cancel)
  }

  /** Runs `work` now; a failure is dropped. */
  once(work: () => Promise<void>): void {
    if (!this.closed) this.run(work, () => {})
  }

  private run(work: () => Promise<void>, then: () => void): void {
    const running = work()
      .catch(() => undefined)
      .then(() => {
        this.running.delete(running)
        then()
      })
    this.running.add(running)
  }

  /** Begins no more work, and waits for what runs. */
  async close(): Promise<void> {
    this.closed = true
    for (const cancel of this.timers.values()) cancel()
    await Promise.all(this.running)
  }
}
