import { type Clock, orAfter } from '../clock.ts'

/** Longest wait for the rest of the work, ms: what it needs may be away. */
const LONGEST_MS = 5_000

/**
 * Work that its starter does not wait for, and that must have ended before what it uses does. The work handles its own
 * failures.
 */
export class BackgroundWork implements AsyncDisposable {
  private readonly clock: Pick<Clock, 'after'>
  private readonly running = new Set<Promise<void>>()

  constructor(clock: Pick<Clock, 'after'>) {
    this.clock = clock
  }

  /** Keeps a promise of work until it has ended. */
  add(work: Promise<void>): void {
    const ended = work.finally(() => this.running.delete(ended))
    this.running.add(ended)
  }

  /** Resolves when all work has ended, or after 5 s. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.running.size === 0) return
    await orAfter(this.clock, LONGEST_MS, Promise.all(this.running), () => {})
  }
}
