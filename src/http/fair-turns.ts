import { FairQueue } from '../core/lifetime/fair-queue.ts'

/** Time of one turn of the event loop that requests may take, ms; what comes after waits for the next turn. */
const SLICE_MS = 5

/** Whether work is over in well under a millisecond, or takes a few. */
export type WorkSize = 'small' | 'large'

/**
 * Shares a thread's time among the clients of an HTTP port. Work runs at once while a turn of the event loop has time
 * for it. What comes then waits, and runs in later turns, one of each client after the other: who sends thousands of
 * requests, or bodies that take long to read, holds up its own. The small work of a client waits for one piece of its large
 * work at most, because clients with one address are not one client.
 */
export class FairTurns {
  private readonly monotonicMs: () => number
  private readonly waiting = new FairQueue<() => void>()
  private spentMs = 0
  private isScheduled = false

  /** `monotonicMs`: the clock. */
  constructor(monotonicMs: () => number) {
    this.monotonicMs = monotonicMs
  }

  /** Runs the work of a client, now or in a later turn. */
  run(client: string, size: WorkSize, work: () => void): void {
    if (this.waiting.size === 0 && this.spentMs < SLICE_MS) this.now(work)
    else this.waiting.push(size === 'small' ? client : `${client} large`, work)
    this.schedule()
  }

  private schedule(): void {
    if (this.isScheduled) return
    this.isScheduled = true
    setImmediate(this.turn)
  }

  private now(work: () => void): void {
    const startMs = this.monotonicMs()
    try {
      work()
    } finally {
      this.spentMs += this.monotonicMs() - startMs
    }
  }

  private readonly turn = (): void => {
    this.isScheduled = false
    this.spentMs = 0
    try {
      while (this.waiting.size > 0 && this.spentMs < SLICE_MS) this.now(this.waiting.shift()!)
    } finally {
      if (this.waiting.size > 0) this.schedule()
    }
  }
}
