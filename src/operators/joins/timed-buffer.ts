import { murmur3 } from '../../core/hash/murmur3.ts'
import { MAX_TIMESTAMP } from '../../core/time.ts'
import type { MapState } from '../../state/port/handles.ts'
import type { KeyMemory } from '../../state/port/keyed-state.ts'
import { LONG, ShortKey } from '../../state/port/short-key.ts'
import { listOfTime, type RecordsOfTime, recordsOfTime } from './records-of-time.ts'

/** Times in memory above which all are forgotten, and read from state again when they are needed. */
const MOST_TIMES = 1_000_000

/** Places before the first time that stay as they are, so that few of many times need to move. */
const MOST_FREE = 32

/** Times that are removed in one turn: between two turns, barriers and cancels get through. */
const MOST_REMOVED = 1000

const GONE = -1

const NO_TIMES: readonly number[] = []

/**
 * Times in ascending order, each once. Most come in order and go in order: an array that gives up its first element each
 * time would need new memory for the next one.
 */
export class Times {
  private places: number[] = []
  private first = 0

  get length(): number {
    return this.places.length - this.first
  }

  /** Adds a time; false if it is there. */
  add(time: number): boolean {
    const { places } = this
    const at = this.positionOf(time)
    if (at === places.length) places.push(time)
    else if (places[at] === time) return false
    else places.splice(at, 0, time)
    return true
  }

  /** The first time; infinite where there is none. */
  get earliest(): number {
    return this.length === 0 ? Number.POSITIVE_INFINITY : this.places[this.first]!
  }

  /** The last time up to `time`; undefined where there is none. */
  lastUpTo(time: number): number | undefined {
    const at = this.positionOf(time)
    if (this.places[at] === time) return time
    return at === this.first ? undefined : this.places[at - 1]
  }

  /** The second time; infinite where there is none. */
  get second(): number {
    return this.length < 2 ? Number.POSITIVE_INFINITY : this.places[this.first + 1]!
  }

  /** Removes the first ones up to `last`, but no more than `most`, and returns them. */
  takeUpTo(last: number, most: number): readonly number[] {
    const { places, first } = this
    const bound = Math.min(places.length, first + most)
    let end = first
    while (end < bound && places[end]! <= last) end += 1
    if (end === first) return NO_TIMES
    const taken = places.slice(first, end)
    this.dropBefore(end)
    return taken
  }

  /** Those from `from` to `to`, both included. */
  between(from: number, to: number): readonly number[] {
    const { places } = this
    const first = this.positionOf(from)
    let end = first
    while (end < places.length && places[end]! <= to) end += 1
    return end === first ? NO_TIMES : places.slice(first, end)
  }

  private dropBefore(position: number): void {
    this.first = position
    if (position < MOST_FREE || position < this.length) return
    this.places = this.places.slice(position)
    this.first = 0
  }

  /** Position of the first time that is not before this one. */
  private positionOf(time: number): number {
    const { places } = this
    let low = this.first
    let high = places.length
    // Most times come in their order.
    if (high > low && places[high - 1]! < time) return high
    while (low < high) {
      const middle = (low + high) >>> 1
      if (places[middle]! < time) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** What a key has by event time: state has it, memory has its times in order. */
export interface TimedSide {
  /** The times of the selected key. */
  times: Times
  /** Times that were added and not removed, of all keys. */
  size: number
  /** When a timer has to remove the first of the selected key; infinite where none has to. */
  readonly firstDue: number
  /** Takes the times that state has of the current key, which nothing knows yet. */
  read(times: Times): void
  /** Removes what is due at a moment, that of up to `most` times, the first ones first; returns the number of times. */
  removeDue(moment: number, most: number): number
}

/** Called with the time of records that go, while `at` has them. */
export type SeeLeaving = (time: number) => void

/** The records of one side of a join, by event time. */
export class TimedBuffer<T> implements TimedSide {
  /** The times of the selected key. */
  times = new Times()
  /** Times that were added and not removed, of all keys. */
  size = 0
  private readonly state: MapState<number, RecordsOfTime<T>>
  private readonly keptMs: number
  private readonly seeLeaving: SeeLeaving | undefined

  /** A record is due, which means that it goes, `keptMs` after its time. */
  constructor(state: MapState<number, RecordsOfTime<T>>, keptMs: number, seeLeaving?: SeeLeaving) {
    this.state = state
    this.keptMs = keptMs
    this.seeLeaving = seeLeaving
  }

  get firstDue(): number {
    const { earliest } = this.times
    if (earliest === Number.POSITIVE_INFINITY) return earliest
    return Math.min(earliest + this.keptMs, MAX_TIMESTAMP)
  }

  read(times: Times): void {
    for (const time of [...this.state.keys()].sort((a, b) => a - b)) {
      times.add(time)
      this.size += 1
    }
  }

  /** Adds a record; returns how many of its time came before it. */
  add(time: number, value: T): number {
    if (this.times.add(time)) {
      this.state.put(time, recordsOfTime([value]))
      this.size += 1
      return 0
    }
    const before = this.at(time)
    this.state.put(time, recordsOfTime([...before, value]))
    return before.length
  }

  removeDue(moment: number, most: number): number {
    const last = moment === MAX_TIMESTAMP ? moment : moment - this.keptMs
    const times = this.times.takeUpTo(last, most)
    for (const time of times) {
      this.seeLeaving?.(time)
      this.state.remove(time)
    }
    this.size -= times.length
    return times.length
  }

  /** The times of records from `from` to `to`, both included. */
  between(from: number, to: number): readonly number[] {
    return this.times.between(from, to)
  }

  /** The records of a time. */
  at(time: number): readonly T[] {
    const held = this.state.get(time)
    return held === undefined ? [] : listOfTime(held)
  }
}

/** The times of both sides of a key. */
interface TimesOfKey {
  readonly key: Uint8Array
  /** What identifies the key, if it is short: its bytes are elsewhere in memory. */
  readonly hash: number
  readonly form: number
  readonly rest: number
  readonly left: Times
  readonly right: Times
  /** Time of the first timer that is known to be set; infinite where none is. */
  timer: number
  /** How often memory had been emptied when it came there; `GONE` once it has left. */
  generation: number
}

/**
 * The buffers of both sides of a join, and the times of each key in memory. A key needs one timer, for the record
 * that is due first: when it fires, all go that are due by then.
 */
export class TimedBuffers<L extends TimedSide, R extends TimedSide> {
  readonly left: L
  readonly right: R
  private readonly most: number
  /**
   * By the hash of the key, or the next number that is free: a text of each key would cost more than all else. A key without
   * records stays until `sweep` comes by, because most keys get records again.
   */
  private byHash = new Map<number, TimesOfKey>()
  private sweep = this.byHash.entries()
  /** How often memory was emptied. */
  private generation = 0
  private readonly short = new ShortKey()
  private selected!: TimesOfKey
  /** Whether a key that is not in memory has no records in state. */
  private isComplete: boolean

  /** `isRestored`: whether state may have records already. */
  constructor(left: L, right: R, isRestored: boolean, most = MOST_TIMES) {
    this.left = left
    this.right = right
    this.isComplete = !isRestored
    this.most = most
  }

  /** Selects the current key of state for both sides; one that is frequent remembers its times. */
  select(key: Uint8Array, memory: KeyMemory | undefined): void {
    const { left, right } = this
    if (left.size + right.size > this.most) this.forget()
    const kept = memory?.remembered() as TimesOfKey | undefined
    const isKept = kept?.generation === this.generation
    const times = isKept ? kept : this.find(key)
    if (!isKept) memory?.remember(times)
    this.selected = times
    left.times = times.left
    right.times = times.right
  }

  private find(key: Uint8Array): TimesOfKey {
    const hash = murmur3(key) | 0
    this.short.take(key, key.length)
    let place = hash
    let times = this.byHash.get(place)
    while (times !== undefined && !this.isOf(times, key, hash)) {
      place = (place + 1) | 0
      times = this.byHash.get(place)
    }
    return times ?? this.create(place, key, hash)
  }

  /** The time of the timer that the selected key lacks, which counts as set from now on; undefined where it lacks none. */
  missingTimer(): number | undefined {
    const { left, right, selected } = this
    const due = Math.min(left.firstDue, right.firstDue)
    if (due >= selected.timer) return undefined
    selected.timer = due
    return due
  }

  /** A timer of the selected key has fired: removes records that are due at a moment; if there are very many, some of them. */
  removeDue(firedAt: number, moment: number): void {
    const { left, right, selected } = this
    if (selected.timer <= firedAt) selected.timer = Number.POSITIVE_INFINITY
    const removed = left.removeDue(moment, MOST_REMOVED)
    right.removeDue(moment, MOST_REMOVED - removed)
  }

  private isOf(times: TimesOfKey, key: Uint8Array, hash: number): boolean {
    const { form, rest } = this.short
    if (times.hash !== hash || times.form !== form) return false
    return form === LONG ? isSame(times.key, key) : times.rest === rest
  }

  private create(place: number, key: Uint8Array, hash: number): TimesOfKey {
    const { form, rest } = this.short
    const times: TimesOfKey = {
      key: key.slice(),
      hash,
      form,
      rest,
      left: new Times(),
      right: new Times(),
      timer: Number.POSITIVE_INFINITY,
      generation: this.generation,
    }
    if (!this.isComplete) {
      this.left.read(times.left)
      this.right.read(times.right)
    }
    this.byHash.set(place, times)
    this.sweepSome(place)
    return times
  }

  /** Looks at two keys for each new one, so that keys without records are at most about as many as others. */
  private sweepSome(except: number): void {
    for (let n = 0; n < 2; n++) {
      const next = this.sweep.next()
      if (next.done === true) {
        this.sweep = this.byHash.entries()
        return
      }
      const [place, times] = next.value
      // A free place ends the search for the keys behind it.
      const isSought = this.byHash.has((place + 1) | 0)
      const isEmpty = times.left.length === 0 && times.right.length === 0
      if (!isEmpty || isSought || place === except) continue
      this.byHash.delete(place)
      times.generation = GONE
    }
  }

  private forget(): void {
    this.generation += 1
    this.byHash = new Map()
    this.sweep = this.byHash.entries()
    this.left.size = 0
    this.right.size = 0
    this.isComplete = false
  }
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}
