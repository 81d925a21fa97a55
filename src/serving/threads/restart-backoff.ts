const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 10_000
/** A thread that ends later than this after its start counts as one that worked. */
const STAYED_ALIVE_MS = 10_000

/** Delays before ended threads are started again, by the number of the thread. */
export class RestartBackoff {
  /** By thread, when it ended last, and the delay after that. */
  private readonly last = new Map<number, { readonly atMs: number; readonly delayMs: number }>()

  /** Delay, in ms, for a thread that has ended at `nowMs`. It doubles while the thread does not stay alive. */
  delayMs(thread: number, nowMs: number): number {
    const last = this.last.get(thread)
    const isQuick = last !== undefined && nowMs - last.atMs < last.delayMs + STAYED_ALIVE_MS
    const delayMs = isQuick ? Math.min(2 * last.delayMs, LONGEST_DELAY_MS) : FIRST_DELAY_MS
    this.last.set(thread, { atMs: nowMs, delayMs })
    return delayMs
  }
}
