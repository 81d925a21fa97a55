import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { TimedBuffer } from '../../../src/operators/joins/timed-buffer.ts'
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

/** A step of a random history, on the buffer and on what it must hold. */
function step(
  [map, buffer]: readonly [KeyedMap, TimedBuffer<string>],
  held: Map<string, string[]>,
  random: ReturnType<typeof seededRandom>,
  at: number,
): void {
  const key = `key-${random.below(4)}`
  const time = random.below(30) - 10
  map.current = key
  buffer.select(key)
  const name = `${key} ${time}`
  if (random.below(3) === 0) {
    buffer.remove(time)
    held.delete(name)
  } else {
    buffer.add(time, `value-${at}`)
    held.set(name, [...(held.get(name) ?? []), `value-${at}`])
  }
  const from = random.below(30) - 12
  const to = from + random.below(12)
  const expected: [number, string[]][] = []
  for (let each = from; each <= to; each++) {
    const values = held.get(`${key} ${each}`)
    if (values !== undefined) expected.push([each, values])
  }
  expect(buffer.between(from, to).map((each) => [each, buffer.at(each)])).toEqual(expected)
}

describe('the records of one side of an interval join', () => {
  it.each([
    ['all times in memory', 1_000_000],
    ['few times in memory', 5],
  ])('are found by key and time, also after a restore (%s)', (_, most) => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = seededRandom(seed)
      const map = new KeyedMap()
      const held = new Map<string, string[]>()
      let buffer = new TimedBuffer(map.state(), false, most)
      for (let at = 0; at < 300; at++) {
        if (at % 100 === 99) buffer = new TimedBuffer(map.state(), true, most)
        step([map, buffer], held, random, at)
      }
    }
  })

  it('are not scanned on a fresh start, and once for each key after a restore', () => {
    const map = new KeyedMap()
    const fresh = new TimedBuffer(map.state(), false)
    for (let time = 0; time < 100; time++) {
      map.current = `key-${time % 5}`
      fresh.select(map.current)
      fresh.add(time, 'value')
    }
    expect(map.scans).toBe(0)
    const restored = new TimedBuffer(map.state(), true)
    for (let time = 0; time < 100; time++) {
      map.current = `key-${time % 5}`
      restored.select(map.current)
      expect(restored.between(0, 99)).toHaveLength(20)
    }
    expect(map.scans).toBe(5)
  })
})
