import type { KeyedEntry } from '../entries/keyed-entry.ts'
import type { FrequentKey } from '../port/frequent-key.ts'
import { CrowdedMoment, type TimerAhead } from './crowded-moment.ts'

/** Timers for which there is room at first. */
const FIRST_ROOM = 64
/** Timers below which none are taken out of the heap together. */
const LEAST_CROWD = 4096
/** Timers with one of the same moment behind them after which the heap looks whether most of its timers are of one. */
const LOOK_AFTER = 256
/** Timers at which it looks. */
const LOOKED_AT = 64

/** All timers of a heap from a moment on. */
export interface LateTimers {
  readonly from: number
  /** In no order. */
  readonly timers: readonly KeyedEntry[]
}

/** What the arrays hold of a timer. */
interface Placed {
  readonly timer: KeyedEntry
  readonly time: number
  readonly hash: number
  readonly frequent: FrequentKey | undefined
}

/**
 * A binary heap of timers, the earliest first. Timers of the same moment are ordered by the hashes of their keys, so
 * that their order depends on nothing but their keys: all windows that end together have timers of one moment, and
 * comparing their keys would cost more than all else. Times and hashes are in arrays of their own, because a look at
 * each timer would wait for memory. Where most timers are of the first moment, they leave the heap together
 * (`CrowdedMoment`).
 */
export class TimerHeap {
  private timers: KeyedEntry[] = []
  private times = new Float64Array(FIRST_ROOM)
  private hashes = new Int32Array(FIRST_ROOM)
  /** The keys that were frequent when their timers came; undefined before the first of them. */
  private keys: (FrequentKey | undefined)[] | undefined
  private crowd: CrowdedMoment | undefined
  private readonly ahead: TimerAhead
  /** Timers that left the heap and had one of their moment behind them, since it looked whether most are of one. */
  private followers = 0

  /** `ahead` is called with timers that will soon be the first. */
  constructor(ahead: TimerAhead = () => 0) {
    this.ahead = ahead
  }

  /** The first timer. */
  get first(): KeyedEntry | undefined {
    return this.isCrowdFirst() ? this.crowd!.first : this.timers[0]
  }

  /** The key of the first timer, if it was a frequent one; by now it may have become another key. */
  get firstKey(): FrequentKey | undefined {
    return this.isCrowdFirst() ? this.crowd!.firstKey : this.keys?.[0]
  }

  /** `frequent`: the key of the timer, if it is a frequent one. */
  push(timer: KeyedEntry, frequent?: FrequentKey): void {
    const { timers } = this
    let at = timers.length
    timers.push(timer)
    if (frequent !== undefined) this.keys ??= new Array<undefined>(at).fill(undefined)
    this.keys?.push(frequent)
    if (at === this.times.length) this.grow()
    const { times } = this
    const { time, hash } = timer
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (times[parent]! < time || (times[parent] === time && !this.isBefore(timer, hash, parent)))
        break
      this.move(parent, at)
      at = parent
    }
    this.put(at, { timer, time, hash, frequent })
  }

  /** Removes the first timer; there must be one. */
  pop(): void {
    if (this.isCrowdFirst()) {
      this.crowd!.take()
      if (this.crowd!.size === 0) this.crowd = undefined
      return
    }
    const [time] = this.times
    this.popFromHeap()
    if (this.times[0] === time) this.followers += 1
    if (this.followers < LOOK_AFTER) return
    this.followers = 0
    const isLarge = this.timers.length >= LEAST_CROWD
    if (isLarge && this.crowd === undefined && this.isCrowded()) this.takeCrowd()
  }

  /** Whether the first timer is not in the heap, but among those that left it together. */
  private isCrowdFirst(): boolean {
    const { crowd } = this
    if (crowd === undefined) return false
    if (this.timers.length === 0 || crowd.time < this.times[0]!) return true
    return crowd.time === this.times[0] && this.isBefore(crowd.first, crowd.first.hash, 0)
  }

  /** Whether most timers seem to be of the first moment, by a look at some all over the heap. */
  private isCrowded(): boolean {
    const { times, timers } = this
    let count = 0
    for (let i = 0; i < LOOKED_AT; i++) {
      if (times[Math.floor((i * timers.length) / LOOKED_AT)] === times[0]) count += 1
    }
    return 2 * count > LOOKED_AT
  }

  /** Takes the timers of the first moment out of the heap. */
  private takeCrowd(): void {
    const { timers, keys } = this
    const [time] = this.times
    const { times } = this
    this.crowd = CrowdedMoment.of(
      timers.filter((_, i) => times[i] === time),
      keys?.filter((_, i) => times[i] === time),
      this.ahead,
    )
    if (this.crowd === undefined) return
    this.timers = []
    this.keys = undefined
    this.times = new Float64Array(FIRST_ROOM)
    this.hashes = new Int32Array(FIRST_ROOM)
    for (let i = 0; i < timers.length; i++) {
      if (times[i] !== time) this.push(timers[i]!, keys?.[i])
    }
  }

  private popFromHeap(): void {
    const { timers } = this
    const size = timers.length - 1
    const last = timers.pop()!
    const frequent = this.keys?.pop()
    if (size === 0) return
    const time = this.times[size]!
    const hash = this.hashes[size]!
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= size) break
      if (child + 1 < size && this.precedes(child + 1, child)) child += 1
      const childTime = this.times[child]!
      if (childTime > time || (childTime === time && this.isBefore(last, hash, child))) break
      this.move(child, at)
      at = child
    }
    this.put(at, { timer: last, time, hash, frequent })
  }

  /**
   * Removes all timers from some moment on, so that about `keep` stay. Timers of one moment stay together, and those of
   * the first moment stay in any case; undefined where nothing can go.
   */
  removeLate(keep: number): LateTimers | undefined {
    const all = this.timers
    const kept = Math.max(0, keep - (this.crowd?.size ?? 0))
    const from = momentAfter(this.times.slice(0, all.length).sort(), kept)
    if (from === undefined) return undefined
    const timers = all.filter(({ time }) => time >= from)
    this.timers = []
    this.keys = undefined
    for (const timer of all) if (timer.time < from) this.push(timer)
    return { from, timers }
  }

  private put(at: number, { timer, time, hash, frequent }: Placed): void {
    this.timers[at] = timer
    this.times[at] = time
    this.hashes[at] = hash
    if (this.keys !== undefined) this.keys[at] = frequent
  }

  private move(from: number, to: number): void {
    this.timers[to] = this.timers[from]!
    this.times[to] = this.times[from]!
    this.hashes[to] = this.hashes[from]!
    if (this.keys !== undefined) this.keys[to] = this.keys[from]
  }

  private precedes(a: number, b: number): boolean {
    const { times } = this
    if (times[a] !== times[b]) return times[a]! < times[b]!
    return this.isBefore(this.timers[a]!, this.hashes[a]!, b)
  }

  /** Whether a timer of this hash is before the one at a position, which has the same time. */
  private isBefore(timer: KeyedEntry, hash: number, at: number): boolean {
    const other = this.hashes[at]!
    return hash < other || (hash === other && timer.key < this.timers[at]!.key)
  }

  private grow(): void {
    const times = new Float64Array(this.times.length * 2)
    times.set(this.times)
    this.times = times
    const hashes = new Int32Array(times.length)
    hashes.set(this.hashes)
    this.hashes = hashes
  }
}

/** The moment of the timer at a position of ascending times, or the next one if that is the first moment of all. */
function momentAfter(sorted: Float64Array, position: number): number | undefined {
  if (position >= sorted.length) return undefined
  const first = sorted[0]!
  const moment = sorted[position]!
  return moment > first ? moment : sorted.find((time) => time > first)
}
