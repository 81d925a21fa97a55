import type { KeyedEntry } from '../entries/keyed-entry.ts'

/** Entries that are due at one moment, in the order in which they came. */
export class Moment {
  readonly time: number
  private readonly entries: KeyedEntry[] = []
  private next = 0

  constructor(time: number) {
    this.time = time
  }

  add(entry: KeyedEntry): void {
    this.entries.push(entry)
  }

  /** The first entry that was not taken. */
  get first(): KeyedEntry | undefined {
    return this.entries[this.next]
  }

  /** Takes the first entry. */
  take(): void {
    this.next += 1
  }
}

/** Moments in the order of time: many entries share few of them. */
export class Moments {
  private readonly byTime = new Map<number, Moment>()
  private readonly inOrder: Moment[] = []
  /** The moment of the last look. */
  private last: Moment | undefined

  get first(): Moment | undefined {
    return this.inOrder[0]
  }

  /** The moment at a time. */
  at(time: number): Moment {
    if (this.last?.time === time) return this.last
    this.last = this.byTime.get(time) ?? this.create(time)
    return this.last
  }

  /** Forgets the first moment. */
  dropFirst(): void {
    const first = this.inOrder.shift()!
    this.byTime.delete(first.time)
    if (this.last === first) this.last = undefined
  }

  private create(time: number): Moment {
    const moment = new Moment(time)
    this.byTime.set(time, moment)
    // Later moments come last, so the search from the end is short.
    let at = this.inOrder.length
    while (at > 0 && this.inOrder[at - 1]!.time > time) at -= 1
    this.inOrder.splice(at, 0, moment)
    return moment
  }
}
