import type { MapState } from '../../state/port/handles.ts'

/** Times in memory above which all are forgotten, and read from state again when they are needed. */
const MOST_TIMES = 1_000_000

/**
 * The records of one side of an interval join, by key and event time. State has them; memory has the times of each key in
 * order, so that a join reads the records of its interval alone.
 */
export class TimedBuffer<T> {
  private readonly state: MapState<number, T[]>
  private readonly most: number
  /** The times of a key, ascending. A key without records is not there. */
  private readonly byKey = new Map<string, number[]>()
  private size = 0
  /** Whether a key that is not in memory has no records in state. */
  private isComplete: boolean
  private key = ''
  private times: number[] = []

  /** `isRestored`: whether state may have records already. */
  constructor(state: MapState<number, T[]>, isRestored: boolean, most = MOST_TIMES) {
    this.state = state
    this.isComplete = !isRestored
    this.most = most
  }

  /** Selects the current key of state for the other methods; `key`: a text that stands for it. */
  select(key: string): void {
    this.key = key
    const known = this.byKey.get(key)
    if (known !== undefined || this.isComplete) {
      this.times = known ?? []
      return
    }
    this.times = [...this.state.keys()].sort((a, b) => a - b)
    this.size += this.times.length
    if (this.times.length > 0) this.byKey.set(key, this.times)
  }

  add(time: number, value: T): void {
    const { times } = this
    const at = this.positionOf(time)
    if (times[at] === time) {
      this.state.put(time, [...(this.state.get(time) ?? []), value])
      return
    }
    this.state.put(time, [value])
    times.splice(at, 0, time)
    this.size += 1
    if (times.length === 1) this.byKey.set(this.key, times)
    if (this.size > this.most) this.forget()
  }

  remove(time: number): void {
    const { times } = this
    const at = this.positionOf(time)
    if (times[at] !== time) return
    this.state.remove(time)
    times.splice(at, 1)
    this.size -= 1
    if (times.length === 0) this.byKey.delete(this.key)
  }

  /** The times of records from `from` to `to`, both included. */
  between(from: number, to: number): readonly number[] {
    const { times } = this
    const first = this.positionOf(from)
    let end = first
    while (end < times.length && times[end]! <= to) end += 1
    return times.slice(first, end)
  }

  /** The records of a time. */
  at(time: number): readonly T[] {
    return this.state.get(time) ?? []
  }

  /** Position of the first time that is not before this one. */
  private positionOf(time: number): number {
    const { times } = this
    let low = 0
    let high = times.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (times[middle]! < time) low = middle + 1
      else high = middle
    }
    return low
  }

  private forget(): void {
    this.byKey.clear()
    this.byKey.set(this.key, this.times)
    this.size = this.times.length
    this.isComplete = false
  }
}
