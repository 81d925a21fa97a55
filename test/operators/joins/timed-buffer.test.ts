import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { TimedBuffers } from '../../../src/operators/joins/timed-buffer.ts'
import type { MapState } from '../../../src/state/port/handles.ts'

/** The map state of several keys; counts the scans of a key's entries. */
class KeyedMap {
  current = ''
  scans = 0
  readonly byKey = new Map<string, Map<number, string[]>>()

  state(): MapState<number, string[]> {
    const ofKey = (): Map<number, string[]> => {
      const known = this.byKey.get(this.current) ?? new Map<number, string[]>()
      this.byKey.set(this.current, known)
      return known
    }
    return {
      get: (time: number) => ofKey().get(time),
      put: (time: number, values: string[]) => void ofKey().set(time, values),
      remove: (time: number) => void ofKey().delete(time),
      keys: () => {
        this.scans += 1
        return ofKey().keys()
      },
    } as Partial<MapState<number, string[]>> as MapState<number, string[]>
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

/** The state and the buffers of both sides. */
class Buffers {
  readonly maps = { left: new KeyedMap(), right: new KeyedMap() }
  buffers: TimedBuffers<string, string>
  private readonly most: number

  constructor(most: number) {
    this.most = most
    this.buffers = this.open(false)
  }

  restore(): void {
    this.buffers = this.open(true)
  }

  select(key: string): void {
    for (const side of SIDES) this.maps[side].current = key
    this.buffers.select(Buffer.from(key, 'hex'))
  }

  private open(isRestored: boolean): TimedBuffers<string, string> {
    const { left, right } = this.maps
    return new TimedBuffers(left.state(), right.state(), isRestored, this.most)
  }
}

/** A step of a random history, on the buffers and on what they must hold. */
function step(
  both: Buffers,
  held: Map<string, string[]>,
  random: ReturnType<typeof seededRandom>,
  at: number,
): void {
  const key = KEYS[random.below(KEYS.length)]!
  const side: Side = SIDES[random.below(2)]!
  const time = random.below(30) - 10
  both.select(key)
  const buffer = both.buffers[side]
  const name = `${side} ${key} ${time}`
  if (random.below(2) === 0) {
    buffer.remove(time)
    held.delete(name)
  } else {
    buffer.add(time, `value-${at}`)
    held.set(name, [...(held.get(name) ?? []), `value-${at}`])
  }
  const from = random.below(30) - 12
  const to = from + random.below(12)
  for (const each of SIDES) {
    const expected: [number, string[]][] = []
    for (let moment = from; moment <= to; moment++) {
      const values = held.get(`${each} ${key} ${moment}`)
      if (values !== undefined) expected.push([moment, values])
    }
    const found = both.buffers[each]
    expect(found.between(from, to).map((moment) => [moment, found.at(moment)])).toEqual(expected)
  }
}

describe('the records of both sides of an interval join', () => {
  it.each([
    ['all times in memory', 1_000_000],
    ['few times in memory', 5],
  ])('are found by key and time, also after a restore (%s)', (_, most) => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = seededRandom(seed)
      const held = new Map<string, string[]>()
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
      if (time >= 100) left.remove(time - 100)
    }
    expect(left.between(0, 2000)).toEqual(Array.from({ length: 100 }, (_, n) => 900 + n))
    expect([left.size, both.maps.left.byKey.get('00')!.size]).toEqual([100, 100])
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
