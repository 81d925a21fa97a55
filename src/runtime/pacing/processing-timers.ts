/** Wall-clock times at which owners want to be called, in time order; an equal request counts once. */
export class ProcessingTimers<Owner> {
  private readonly entries: { readonly timestampMs: number; readonly owner: Owner }[] = []

  /** The earliest time, or undefined when there is none. */
  get earliestMs(): number | undefined {
    return this.entries[0]?.timestampMs
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
    return first !== undefined && first.timestampMs <= nowMs ? this.entries.shift() : undefined
  }
}
