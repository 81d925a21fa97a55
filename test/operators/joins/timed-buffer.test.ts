import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { MAX_TIMESTAMP } from '../../../src/core/time.ts'
import type { RecordsOfTime } from '../../../src/operators/joins/records-of-time.ts'
import { TimedBuffer, TimedBuffers } from '../../../src/operators/joins/timed-buffer.ts'
import { FrequentKey } from '../../../src/state/port/frequent-key.ts'
import type { MapState } from '../../../src/state/port/handles.ts'
import type { KeyMemory } from '../../../src/state/port/keyed-state.ts'

type Value = string | { readonly value: number }
type OfKey = Map<number, RecordsOfTime<Value>>
type State = MapState<number, RecordsOfTime<Value>>

/** The map state of several keys; counts the scans of a key's entries. */
class KeyedMap {
  current = ''
  scans = 0
  readonly byKey = new Map<string, OfKey>()

  state(): State {
    const ofKey = (): OfKey => {
      const known: OfKey = this.byKey.get(this.current) ?? new Map()
      this.byKey.set(this.current, known)
      return known
    }
    return {
      get: (time: number) => ofKey().get(time),
      put: (time: number, records: RecordsOfTime<Value>) => void ofKey().set(time, records),
      remove: (time: number) => void ofKey().delete(time),
      keys: () => {
        this.scans += 1
        return ofKey().keys()
      },
    } as Partial<State> as State
  }
}

type Side = 'left' | 'right'

/** Among them keys of one hash. */
const KEYS = [
  ...Array.from({ length: 8 }, (_, n) => `0${n}`),
  'f8d99742590c0d29fa',
  'f88a86823014e5bbac',
  'f88a86823014e5bbac'.slice(2),
]

const SIDES = ['left', 'right'] as const

/** How long records are kept, in ms. */
const KEPT_MS = { left: 7, right: 2 }

/** The state and the buffers of both sides, and the timers that are set. */
class Buffers {
  readonly maps = { left: new KeyedMap(), right: new KeyedMap() }
  readonly timers = new Map<string, Set<number>>()
  buffers: TimedBuffers<TimedBuffer<Value>, TimedBuffer<Value>>
  /** Keys that a few of all have as objects, one after the other. */
  private readonly frequent = new Map<string, FrequentKey>()
  private readonly most: number

  constructor(most: number) {
    this.most = most
    this.buffers = this.open(false)
  }

  restore(): void {
    this.frequent.clear()
    this.buffers = this.open(true)
  }

  select(key: string): void {
    for (const side of SIDES) this.maps[side].current = key
    this.buffers.select(Buffer.from(key, 'hex'), this.memoryOf(key))
  }

  private memoryOf(key: string): KeyMemory {
    const frequent = this.frequent.get(key)
    return {
      remembered: () => frequent?.kept,
      remember: (kept) => {
        if (frequent !== undefined) frequent.kept = kept
      },
    }
  }

  /** Makes a key frequent, with the object of another one if there are three. */
  makeFrequent(key: string): void {
    if (this.frequent.has(key)) return
    const [lost] = this.frequent.size < 3 ? [] : this.frequent
    if (lost !== undefined) this.frequent.delete(lost[0])
    const object = lost?.[1] ?? new FrequentKey()
    const bytes = Buffer.from(key, 'hex')
    object.set(bytes, 0, bytes.length, 0, 0)
    this.frequent.set(key, object)
  }

  /** Sets the timer of the selected key that is missing. */
  setTimer(): void {
    const time = this.buffers.missingTimer()
    if (time === undefined) return
    const { current } = this.maps.left
    const timers = this.timers.get(current) ?? new Set<number>()
    this.timers.set(current, timers.add(time))
  }

  /** Fires the timers of all keys up to a moment, also those that are set meanwhile. */
  advance(moment: number): void {
    for (const [key, timers] of this.timers) {
      for (;;) {
        const time = Math.min(...timers)
        if (time > moment) break
        timers.delete(time)
        this.select(key)
        this.buffers.removeDue(time, moment)
        this.setTimer()
      }
    }
  }

  private open(isRestored: boolean): TimedBuffers<TimedBuffer<Value>, TimedBuffer<Value>> {
    const { left, right } = this.maps
    return new TimedBuffers(
      new TimedBuffer(left.state(), KEPT_MS.left),
      new TimedBuffer(right.state(), KEPT_MS.right),
      isRestored,
      this.most,
    )
  }
}

/** A step of a random history, on the buffers and on what they must hold. */
function step(
  both: Buffers,
  held: Map<string, Value[]>,
  random: ReturnType<typeof seededRandom>,
  at: number,
): void {
  const key = KEYS[random.below(KEYS.length)]!
  const side: Side = SIDES[random.below(2)]!
  const time = at - random.below(30)
  if (random.below(8) === 0) {
    const moment = at - random.below(30)
    both.advance(moment)
    for (const name of held.keys()) if (dueOf(name) <= moment) held.delete(name)
  }
  if (random.below(4) === 0) both.makeFrequent(key)
  both.select(key)
  const name = `${side} ${key} ${time}`
  const value = random.below(2) === 0 ? `value-${at}` : { value: at }
  both.buffers[side].add(time, value)
  both.setTimer()
  held.set(name, [...(held.get(name) ?? []), value])
  const from = at - random.below(40)
  const to = from + random.below(12)
  for (const each of SIDES) {
    const expected: [number, Value[]][] = []
    for (let moment = from; moment <= to; moment++) {
      const values = held.get(`${each} ${key} ${moment}`)
      if (values !== undefined) expected.push([moment, values])
    }
    const buffer = both.buffers[each]
    const found = buffer.between(from, to).map((moment) => [moment, buffer.at(moment)])
    if (JSON.stringify(found) !== JSON.stringify(expected)) expect(found).toEqual(expected)
  }
}

/** When records of a side, a key and a time are due. */
function dueOf(name: string): number {
  const [side, , time] = name.split(' ') as [Side, string, string]
  return Number(time) + KEPT_MS[side]
}

describe('the records of both sides of an interval join', () => {
  it.each([
    ['all times in memory', 1_000_000],
    ['few times in memory', 5],
  ])('are found by key and time, also after a restore (%s)', (_, most) => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = seededRandom(seed)
      const held = new Map<string, Value[]>()
      const both = new Buffers(most)
      for (let at = 0; at < 300; at++) {
        if (at % 100 === 99) both.restore()
        step(both, held, random, at)
      }
    }
  })

  it('are found where very many come and go in order', () => {
    const both = new Buffers(1_000_000)
    both.select('00')
    const { left } = both.buffers
    for (let time = 0; time < 1000; time++) {
      left.add(time, `value-${time}`)
      both.setTimer()
      if (time % 10 === 0) both.advance(time - 100 + KEPT_MS.left)
    }
    both.advance(899 + KEPT_MS.left)
    expect(left.between(0, 2000)).toEqual(Array.from({ length: 100 }, (_, n) => 900 + n))
    expect([left.size, both.maps.left.byKey.get('00')!.size]).toEqual([100, 100])
  })

  it('need one timer for each key, also where very many are due at once', () => {
    const both = new Buffers(1_000_000)
    for (let time = 0; time < 5000; time++) {
      both.select(`0${time % 2}`)
      both.buffers.left.add(time, `value-${time}`)
      both.setTimer()
    }
    expect([...both.timers.values()].map((timers) => [...timers])).toEqual([[7], [8]])
    both.advance(4990 + KEPT_MS.left)
    expect([...both.timers.values()].map((timers) => [...timers])).toEqual([[4999], [4998]])
    expect(both.buffers.left.size).toBe(9)
    both.advance(MAX_TIMESTAMP)
    expect([...both.timers.values()].map((timers) => [...timers])).toEqual([[], []])
    expect(both.maps.left.byKey.get('00')!.size).toBe(0)
  })

  it('that come before the others need a timer of their own', () => {
    const both = new Buffers(1_000_000)
    both.select('00')
    for (const time of [50, 60, 40, 45]) {
      both.buffers.left.add(time, 'value')
      both.setTimer()
    }
    both.buffers.right.add(41, 'value')
    both.setTimer()
    expect([...both.timers.get('00')!]).toEqual([57, 47, 43])
    both.advance(47)
    expect(both.buffers.left.between(0, 100)).toEqual([45, 50, 60])
    expect([...both.timers.get('00')!]).toEqual([57, 52])
  })

  it('are not scanned on a fresh start, and once for each key after a restore', () => {
    const both = new Buffers(1_000_000)
    for (let time = 0; time < 100; time++) {
      both.select(`0${time % 5}`)
      both.buffers.left.add(time, 'value')
    }
    expect(both.maps.left.scans).toBe(0)
    both.restore()
    for (let time = 0; time < 100; time++) {
      both.select(`0${time % 5}`)
      expect(both.buffers.left.between(0, 99)).toHaveLength(20)
    }
    expect(both.maps.left.scans).toBe(5)
  })
})
