import type { KeyedEntry } from '../entries/keyed-entry.ts'
import type { FrequentKey } from '../port/frequent-key.ts'

/** Timers of a part, about: sorting them takes a tenth of a millisecond. */
const PART = 512
/** A part with more times as many is too long to be sorted in one turn: the hashes are not spread. */
const MOST_TIMES = 16
const HASH_BITS = 32

/** Above each place in a part: hash and place are one number, which the engine sorts without calls. */
const PLACES = MOST_TIMES * PART + 1
const LEAST_HASH = -(2 ** 31)

/** Loads what the removal of a timer needs into the processor's cache; the result means nothing. */
export type TimerAhead = (timer: KeyedEntry) => number

/**
 * Very many timers of one moment, by the hashes of their keys. They are divided into parts by the first bits of the hashes
 * (a most-significant-digit radix sort), and a part is sorted when it is reached: taking one looks at its part alone, where a
 * heap of millions waits for memory on each of its levels.
 */
export class CrowdedMoment {
  readonly time: number
  private readonly timers: KeyedEntry[]
  private readonly keys: (FrequentKey | undefined)[] | undefined
  /** Where each part begins, and last where all end. */
  private readonly starts: Uint32Array
  private readonly ahead: TimerAhead
  /** Depends on what was read ahead, so that the compiler does not remove the reads. */
  seen = 0
  private part = -1
  private sortedTo = 0
  private at = 0

  private constructor(
    timers: KeyedEntry[],
    keys: (FrequentKey | undefined)[] | undefined,
    { starts, ahead }: { readonly starts: Uint32Array; readonly ahead: TimerAhead },
  ) {
    this.time = timers[0]!.time
    this.timers = timers
    this.keys = keys
    this.starts = starts
    this.ahead = ahead
    this.sortNext()
  }

  /**
   * Of timers of one moment, of which there are more than {@link PART}, and their keys at the same places; undefined where
   * many of them have nearly the same hash. `ahead` is called with all timers of a part at once, where a timer after the other
   * would wait for memory.
   */
  static of(
    timers: readonly KeyedEntry[],
    keys: readonly (FrequentKey | undefined)[] | undefined,
    ahead: TimerAhead,
  ): CrowdedMoment | undefined {
    const bits = 32 - Math.clz32(Math.floor((timers.length - 1) / PART))
    const partOf = ({ hash }: KeyedEntry): number => (hash ^ (1 << 31)) >>> (HASH_BITS - bits)
    const ends = new Uint32Array(2 ** bits + 1)
    for (const timer of timers) ends[partOf(timer) + 1]! += 1
    if (ends.some((count) => count > MOST_TIMES * PART)) return undefined
    for (let part = 1; part < ends.length; part++) ends[part]! += ends[part - 1]!
    const starts = ends.slice()
    const placed = new Array<KeyedEntry>(timers.length)
    const placedKeys = keys && new Array<FrequentKey | undefined>(timers.length)
    for (let i = 0; i < timers.length; i++) {
      const timer = timers[i]!
      const place = ends[partOf(timer)]!++
      placed[place] = timer
      if (placedKeys !== undefined) placedKeys[place] = keys![i]
    }
    return new CrowdedMoment(placed, placedKeys, { starts, ahead })
  }

  /** How many are left. */
  get size(): number {
    return this.timers.length - this.at
  }

  /** The first timer; there must be one. */
  get first(): KeyedEntry {
    return this.timers[this.at]!
  }

  /** The key of the first timer, as `TimerHeap.firstKey`. */
  get firstKey(): FrequentKey | undefined {
    return this.keys?.[this.at]
  }

  /** Removes the first timer. */
  take(): void {
    this.at += 1
    if (this.at === this.sortedTo && this.size > 0) this.sortNext()
  }

  /** Sorts the next part that has timers. */
  private sortNext(): void {
    const { starts, timers, keys } = this
    do this.part += 1
    while (starts[this.part] === starts[this.part + 1])
    const from = starts[this.part]!
    this.sortedTo = starts[this.part + 1]!
    const part = timers.slice(from, this.sortedTo)
    const partKeys = keys?.slice(from, this.sortedTo)
    const order = new Float64Array(part.length)
    for (let i = 0; i < part.length; i++) order[i] = (part[i]!.hash - LEAST_HASH) * PLACES + i
    order.sort()
    for (let i = 0; i < part.length; i++) {
      const place = order[i]! % PLACES
      timers[from + i] = part[place]!
      if (keys !== undefined) keys[from + i] = partKeys![place]
      this.seen ^= this.ahead(part[i]!)
    }
    this.orderEqual(from, this.sortedTo)
  }

  /** Orders those timers of a sorted part by key that have the same hash. */
  private orderEqual(from: number, to: number): void {
    const { timers } = this
    let start = from
    for (let at = from + 1; at <= to; at++) {
      if (at < to && timers[at]!.hash === timers[start]!.hash) continue
      if (at - start > 1) this.orderByKey(start, at)
      start = at
    }
  }

  private orderByKey(from: number, to: number): void {
    const { timers, keys } = this
    const run = timers.slice(from, to).map((timer, i) => ({ timer, frequent: keys?.[from + i] }))
    run.sort((a, b) => (a.timer.key < b.timer.key ? -1 : 1))
    for (const [i, { timer, frequent }] of run.entries()) {
      timers[from + i] = timer
      if (keys !== undefined) keys[from + i] = frequent
    }
  }
}
