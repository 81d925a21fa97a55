/** Time of one turn of the event loop that connections with more to serve share, in ms. */
const SHARE_MS = 0.5

/**
 * The connections of a thread that have more to serve than one turn of the event loop allows. They are
 * served in order, some in each turn, so that one that has sent thousands of frames at once does not hold
 * up the others.
 */
export class ConnectionTurns {
  private readonly monotonicMs: () => number
  private waiting: (() => void)[] = []
  private scheduled = false

  /** `monotonicMs`: the clock. */
  constructor(monotonicMs: () => number) {
    this.monotonicMs = monotonicMs
  }

  /** Calls `serve` when it is the connection's turn. */
  wait(serve: () => void): void {
    this.waiting.push(serve)
    this.schedule()
  }

  private schedule(): void {
    if (this.scheduled) return
    this.scheduled = true
    setImmediate(this.run)
  }

  private readonly run = (): void => {
    this.scheduled = false
    const end = this.monotonicMs() + SHARE_MS
    const { waiting } = this
    this.waiting = []
    let at = 0
    do waiting[at++]!()
    while (at < waiting.length && this.monotonicMs() < end)
    // Those that were not served come before those that wait again.
    if (at < waiting.length) this.waiting = waiting.slice(at).concat(this.waiting)
    if (this.waiting.length > 0) this.schedule()
  }
}
