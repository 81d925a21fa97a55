/**
 * Wall-clock times at which owners want to be called, in time order; an equal request counts once. A time is reached
 * when its millisecond is over, as in Flink: else a record that came in the rest of it would belong to a window that
 * has fired.
 */
export class ProcessingTimers<Owner> {
  private readonly entries: { readonly timestampMs: number; readonly owner: Owner }[] = []

  /** When the earliest request is due, or undefined when there is none. */
  get dueMs(): number | undefined {
    const first = this.entries[0]
    return first && first.timestampMs + 1
  }

  /** Adds a request, unless an equal one waits. */
  add(timestampMs: number, owner: Owner): void {
    let at = this.entries.length
    while (at > 0 && this.entries[at - 1]!.timestampMs > timestampMs) at -= 1
    for (let i = at - 1; i >= 0 && this.entries[i]!.timestampMs === timestampMs; i--) {
      if (this.entries[i]!.owner === owner) return
    }
    this.entries.splice(at, 0, { timestampMs, owner })
  }

  /** Removes and returns the earliest request that is due, or undefined. */
  takeDue(nowMs: number): { readonly timestampMs: number; readonly owner: Owner } | undefined {
    const first = this.entries[0]
    return first !== undefined && first.timestampMs < nowMs ? this.entries.shift() : undefined
  }
}
