import type { Cancel, Clock } from '../../core/clock.ts'

/** Calls after a time that end together. */
export class LaterCalls {
  private readonly clock: Pick<Clock, 'after'>
  private readonly waiting = new Set<Cancel>()

  constructor(clock: Pick<Clock, 'after'>) {
    this.clock = clock
  }

  /** Calls once after a time, unless the call is canceled before. */
  after(delayMs: number, call: () => void): Cancel {
    const cancelTimer = this.clock.after(delayMs, () => {
      this.waiting.delete(cancel)
      call()
    })
    const cancel = (): void => {
      this.waiting.delete(cancel)
      cancelTimer()
    }
    this.waiting.add(cancel)
    return cancel
  }

  /** Cancels all calls that wait. */
  cancelAll(): void {
    for (const cancel of [...this.waiting]) cancel()
  }
}
