import type { Cancel, Clock } from '../core/clock.ts'

/** An object with a deadline. It is also a link of the wheel's lists, so that adding allocates nothing. */
export interface DeadlineEntry {
  /** Monotonic ms; infinite for one that only ends by `remove`. */
  deadlineAt: number
  /** Neighbours in the wheel; undefined when not in it. */
  previousEntry: DeadlineEntry | undefined
  nextEntry: DeadlineEntry | undefined
  /** Called once when the deadline has passed. */
  expire(): void
}

const BUCKETS = 256

/**
 * Deadlines of many requests behind one coarse timer (Varghese and Lauck, "Hashed and Hierarchical
 * Timing Wheels", 1987). An entry expires at most one tick late. The timer runs only while the wheel has
 * entries.
 */
export class DeadlineWheel {
  private readonly clock: Clock
  private readonly tickMs: number
  private readonly buckets: DeadlineEntry[]
  private size = 0
  private tick = 0
  private cancel: Cancel | undefined

  /** `tickMs` is the timer's period. */
  constructor(clock: Clock, tickMs = 10) {
    this.clock = clock
    this.tickMs = tickMs
    this.buckets = Array.from({ length: BUCKETS }, newHead)
  }

  /** Entries that wait. */
  get waiting(): number {
    return this.size
  }

  /** Watches an entry until `remove` or its deadline. */
  add(entry: DeadlineEntry): void {
    if (this.size++ === 0) this.start()
    const tick = Math.max(Math.ceil(entry.deadlineAt / this.tickMs), this.tick + 1)
    const head = this.buckets[tick === Number.POSITIVE_INFINITY ? 0 : tick % BUCKETS]!
    const last = head.previousEntry!
    entry.previousEntry = last
    entry.nextEntry = head
    last.nextEntry = entry
    head.previousEntry = entry
  }

  /** Removes an entry; does nothing when it is not in the wheel. */
  remove(entry: DeadlineEntry): void {
    const { previousEntry, nextEntry } = entry
    if (previousEntry === undefined || nextEntry === undefined) return
    previousEntry.nextEntry = nextEntry
    nextEntry.previousEntry = previousEntry
    entry.previousEntry = undefined
    entry.nextEntry = undefined
    this.size--
  }

  /** Stops the timer and removes all entries. */
  close(): void {
    this.cancel?.()
    this.cancel = undefined
    for (const head of this.buckets) {
      head.previousEntry = head
      head.nextEntry = head
    }
    this.size = 0
  }

  private start(): void {
    if (this.cancel !== undefined) return
    this.tick = Math.floor(this.clock.monotonicMs() / this.tickMs)
    this.cancel = this.clock.after(this.tickMs, this.onTick)
  }

  private readonly onTick = (): void => {
    this.cancel = undefined
    const now = this.clock.monotonicMs()
    const due = Math.floor(now / this.tickMs)
    const rounds = Math.min(due - this.tick, BUCKETS)
    const first = due - rounds + 1
    this.tick = Math.max(due, this.tick)
    for (let tick = first; tick <= due; tick++) this.expireBucket(tick % BUCKETS, now)
    if (this.size > 0) this.cancel ??= this.clock.after(this.tickMs, this.onTick)
  }

  private expireBucket(index: number, now: number): void {
    const head = this.buckets[index]!
    const due: DeadlineEntry[] = []
    for (let entry = head.nextEntry!; entry !== head; entry = entry.nextEntry!) {
      if (entry.deadlineAt <= now) due.push(entry)
    }
    for (const entry of due) {
      // The expiry of an earlier entry may have removed this one, or added it again.
      if (entry.nextEntry === undefined || entry.deadlineAt > now) continue
      this.remove(entry)
      entry.expire()
    }
  }
}

function newHead(): DeadlineEntry {
  const head: DeadlineEntry = {
    deadlineAt: Number.POSITIVE_INFINITY,
    previousEntry: undefined,
    nextEntry: undefined,
    expire() {},
  }
  head.previousEntry = head
  head.nextEntry = head
  return head
}
