import type { KeyedEntry } from '../entries/keyed-entry.ts'
import type { FrequentKey } from '../port/frequent-key.ts'

/** Timers of a part, about: sorting them takes a tenth of a millisecond. */
const PART = 512
/** A part with more times as many is too long to be sorted in one turn: the hashes are not spread. */
const MOST_TIMES = 16
const HASH_BITS = 32

/** A timer of the moment, and its key if it was frequent when the timer came. */
export interface CrowdedTimer {
  readonly timer: KeyedEntry
  readonly frequent: FrequentKey | undefined
}

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
  private part = -1
  private sortedTo = 0
  private at = 0

  private constructor(
    timers: KeyedEntry[],
    keys: (FrequentKey | undefined)[] | undefined,
    starts: Uint32Array,
  ) {
    this.time = timers[0]!.time
    this.timers = timers
    this.keys = keys
    this.starts = starts
    this.sortNext()
  }

  /**
   * Of timers of one moment, of which there are more than {@link PART}, and their keys at the same places; undefined where
   * many of them have nearly the same hash.
   */
  static of(
    timers: readonly KeyedEntry[],
    keys: readonly (FrequentKey | undefined)[] | undefined,
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
    for (const [i, timer] of timers.entries()) {
      const place = ends[partOf(timer)]!++
      placed[place] = timer
      if (placedKeys !== undefined) placedKeys[place] = keys![i]
    }
    return new CrowdedMoment(placed, placedKeys, starts)
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
    const pairs = timers
      .slice(from, this.sortedTo)
      .map((timer, i): CrowdedTimer => ({ timer, frequent: keys?.[from + i] }))
      .sort(byHash)
    for (const [i, { timer, frequent }] of pairs.entries()) {
      timers[from + i] = timer
      if (keys !== undefined) keys[from + i] = frequent
    }
  }
}

/** The order of `TimerHeap` among timers of one moment. */
const byHash = ({ timer: a }: CrowdedTimer, { timer: b }: CrowdedTimer): number =>
  a.hash - b.hash || (a.key < b.key ? -1 : 1)
