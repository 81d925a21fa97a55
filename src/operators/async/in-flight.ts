import { Fifo } from './fifo.ts'

/** A record that waits for its results. */
export interface PendingRecord {
  /** Its results, as soon as they are known. */
  results: readonly unknown[] | undefined
}

/** Records in flight: when the results of each may be emitted, and what waits behind them. */
export interface InFlight<R extends PendingRecord> {
  /** Number of records. */
  readonly size: number
  /** All records, in the order in which they came. */
  records(): Iterable<R>
  add(record: R): void
  /** The results of a record are known. */
  completed(record: R): void
  /**
   * Removes and returns a record whose results are to be emitted now; undefined when there is none. Calls the
   * actions that waited for the records before, whose results must be emitted by then.
   */
  next(): R | undefined
  /** See `DeferringOperator`. */
  after(action: () => void, isBorder: boolean): void
}

/** Records whose results are emitted in the order in which the records came. */
export class OrderedInFlight<R extends PendingRecord> implements InFlight<R> {
  size = 0
  private readonly queue = new Fifo<R | (() => void)>()

  add(record: R): void {
    this.queue.push(record)
    this.size += 1
  }

  completed(): void {}

  *records(): Iterable<R> {
    for (const item of this.queue) if (typeof item !== 'function') yield item
  }

  next(): R | undefined {
    for (;;) {
      const { first } = this.queue
      if (first === undefined) return undefined
      if (typeof first === 'function') {
        this.queue.shift()
        first()
      } else {
        if (first.results === undefined) return undefined
        this.queue.shift()
        this.size -= 1
        return first
      }
    }
  }

  after(action: () => void): void {
    if (this.queue.first === undefined) action()
    else this.queue.push(action)
  }
}

/** The records between two actions. */
interface Stretch {
  /** Records whose results are not emitted. */
  pending: number
  /** Number of borders before it. */
  readonly borders: number
}

interface Waiting {
  readonly behind: Stretch
  readonly action: () => void
  readonly isBorder: boolean
}

/** Records whose results are emitted as they come, but not across a border. */
export class UnorderedInFlight<R extends PendingRecord> implements InFlight<R> {
  private readonly stretchOf = new Map<R, Stretch>()
  private readonly actions = new Fifo<Waiting>()
  private readonly ready = new Fifo<R>()
  /** Records with results behind borders, by the number of borders before them. */
  private readonly early = new Map<number, R[]>()
  private last: Stretch = { pending: 0, borders: 0 }
  private bordersPassed = 0

  get size(): number {
    return this.stretchOf.size
  }

  records(): Iterable<R> {
    return this.stretchOf.keys()
  }

  add(record: R): void {
    this.last.pending += 1
    this.stretchOf.set(record, this.last)
  }

  completed(record: R): void {
    const { borders } = this.stretchOf.get(record)!
    if (borders === this.bordersPassed) this.ready.push(record)
    else this.early.set(borders, [...(this.early.get(borders) ?? []), record])
  }

  next(): R | undefined {
    this.callDue()
    const record = this.ready.shift()
    if (record === undefined) return undefined
    this.stretchOf.get(record)!.pending -= 1
    this.stretchOf.delete(record)
    return record
  }

  after(action: () => void, isBorder: boolean): void {
    if (this.size === 0 && this.actions.first === undefined) {
      action()
      return
    }
    this.actions.push({ behind: this.last, action, isBorder })
    this.last = { pending: 0, borders: this.last.borders + (isBorder ? 1 : 0) }
  }

  private callDue(): void {
    for (;;) {
      const { first } = this.actions
      if (first === undefined || first.behind.pending > 0) return
      this.actions.shift()
      if (first.isBorder) this.passBorder()
      first.action()
    }
  }

  private passBorder(): void {
    this.bordersPassed += 1
    for (const record of this.early.get(this.bordersPassed) ?? []) this.ready.push(record)
    this.early.delete(this.bordersPassed)
  }
}
