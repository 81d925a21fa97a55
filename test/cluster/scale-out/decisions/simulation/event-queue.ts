interface Entry {
  readonly atMs: number
  readonly order: number
  readonly run: () => void
}

/** Virtual time: runs callbacks in the order of their times, and of their making where these are equal. */
export class EventQueue {
  nowMs = 0
  private readonly heap: Entry[] = []
  private made = 0

  /** Runs `run` after `delayMs` of virtual time. */
  after(delayMs: number, run: () => void): void {
    const { heap } = this
    const entry = { atMs: this.nowMs + Math.max(0, delayMs), order: this.made++, run }
    let at = heap.length
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(entry, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = entry
  }

  /** Runs everything up to and with a time. */
  runUntil(untilMs: number): void {
    for (let next = this.heap[0]; next !== undefined && next.atMs <= untilMs; next = this.heap[0]) {
      this.take()
      this.nowMs = next.atMs
      next.run()
    }
    this.nowMs = untilMs
  }

  private take(): void {
    const { heap } = this
    const last = heap.pop()!
    if (heap.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, last)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)
}
