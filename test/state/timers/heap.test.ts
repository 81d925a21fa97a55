import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { KeyedEntry } from '../../../src/state/entries/keyed-entry.ts'
import { FrequentKey } from '../../../src/state/port/frequent-key.ts'
import { TimerHeap } from '../../../src/state/timers/heap.ts'

function timer(time: number, hash: number, key: string): KeyedEntry {
  const entry = new KeyedEntry(hash, key, 0)
  entry.time = time
  return entry
}

const order = (a: KeyedEntry, b: KeyedEntry): number =>
  a.time - b.time || a.hash - b.hash || (a.key < b.key ? -1 : 1)

function drain(heap: TimerHeap): KeyedEntry[] {
  const drained: KeyedEntry[] = []
  for (let first = heap.first; first !== undefined; first = heap.first) {
    drained.push(first)
    heap.pop()
  }
  return drained
}

describe('a heap of timers', () => {
  it.each([1, 2, 3])('gives them by time, hash and key (seed %i)', (seed) => {
    const random = seededRandom(seed)
    const heap = new TimerHeap()
    const timers = Array.from({ length: 1000 }, (_, i) =>
      timer(random.below(20) - 10, random.below(5) - 2, `key-${i}`),
    )
    for (const each of timers) heap.push(each)
    expect(drain(heap)).toEqual(timers.toSorted(order))
  })

  it.each([4, 5])('gives the first one while others come (seed %i)', (seed) => {
    const random = seededRandom(seed)
    const heap = new TimerHeap()
    let expected: KeyedEntry[] = []
    for (let i = 0; i < 3000; i++) {
      if (expected.length > 0 && random.below(5) < 2) {
        expect(heap.first).toBe(expected[0])
        heap.pop()
        expected = expected.slice(1)
      } else {
        const added = timer(random.below(2 ** 45), random.below(3), `key-${i}`)
        heap.push(added)
        expected = [...expected, added].sort(order)
      }
    }
    expect(drain(heap)).toEqual(expected)
  })

  it.each([6, 7])('gives up the late ones, and gives the others as before (seed %i)', (seed) => {
    const random = seededRandom(seed)
    const heap = new TimerHeap()
    const timers = Array.from({ length: 1000 }, (_, i) =>
      timer(random.below(50), random.below(5), `key-${i}`),
    )
    for (const each of timers) heap.push(each)
    const late = heap.removeLate(500)!
    const [early, rest] = [
      timers.filter(({ time }) => time < late.from),
      timers.filter(({ time }) => time >= late.from),
    ]
    expect(late.timers.toSorted(order)).toEqual(rest.toSorted(order))
    expect(early.length).toBeGreaterThan(400)
    expect(early.length).toBeLessThanOrEqual(500)
    heap.push(rest[0]!)
    expect(drain(heap)).toEqual([...early, rest[0]!].toSorted(order))
  })

  it('gives up nothing of its first moment', () => {
    const heap = new TimerHeap()
    expect(heap.removeLate(0)).toBeUndefined()
    for (const key of ['a', 'b', 'c']) heap.push(timer(1, 0, key))
    expect(heap.removeLate(1)).toBeUndefined()
    const later = timer(2, 0, 'd')
    heap.push(later)
    expect(heap.removeLate(1)).toEqual({ from: 2, timers: [later] })
    expect(heap.removeLate(3)).toBeUndefined()
    expect(drain(heap).map(({ key }) => key)).toEqual(['a', 'b', 'c'])
  })

  it.each([8, 9])('has the frequent key of each timer that came with one (seed %i)', (seed) => {
    const random = seededRandom(seed)
    const heap = new TimerHeap()
    const keys = new Map<KeyedEntry, FrequentKey | undefined>()
    for (let i = 0; i < 2000; i++) {
      const { first } = heap
      if (first !== undefined && random.below(5) < 2) {
        expect(heap.firstKey).toBe(keys.get(first))
        heap.pop()
      } else {
        const added = timer(random.below(100), random.below(3), `key-${i}`)
        // The first hundred have none, as before any key is frequent.
        keys.set(added, i > 100 && random.below(2) === 0 ? new FrequentKey() : undefined)
        heap.push(added, keys.get(added))
      }
    }
    for (let { first } = heap; first !== undefined; { first } = heap) {
      expect(heap.firstKey).toBe(keys.get(first))
      heap.pop()
    }
    expect(heap.firstKey).toBeUndefined()
  })

  describe('most of which are of one moment', () => {
    const MOMENT = 1000
    /** More than a heap keeps apart when most are of one moment. */
    const MANY = 6000

    /** A heap whose first timers are of `MOMENT`, and others, in random order. */
    function crowded(seed: number, hashes = 2 ** 32) {
      const random = seededRandom(seed)
      const heap = new TimerHeap()
      const keys = new Map<KeyedEntry, FrequentKey | undefined>()
      const any = (time: number, i: number): KeyedEntry => {
        const added = timer(time, (random.below(hashes) - hashes / 2) | 0, `key-${i}`)
        keys.set(added, random.below(3) === 0 ? new FrequentKey() : undefined)
        heap.push(added, keys.get(added))
        return added
      }
      const timers = Array.from({ length: MANY }, (_, i) =>
        any(random.below(4) > 0 ? MOMENT : MOMENT + 1 + random.below(50), i),
      )
      return { random, heap, keys, timers, any }
    }

    // With few hashes, some timers have the same one.
    it.each([
      [10, 2 ** 32],
      [11, 2 ** 32],
      [16, 3000],
      [17, 20],
    ])('gives them by hash and key (seed %i, %i hashes)', (seed, hashes) => {
      const { heap, timers } = crowded(seed, hashes)
      expect(drain(heap)).toEqual(timers.toSorted(order))
      expect([heap.first, heap.firstKey]).toEqual([undefined, undefined])
    })

    it('gives them by key where all have the same hash', () => {
      const { heap, timers } = crowded(12, 1)
      expect(drain(heap)).toEqual(timers.toSorted(order))
    })

    it.each([13, 14])('takes others before, of and after that moment (seed %i)', (seed) => {
      const { random, heap, keys, timers, any } = crowded(seed)
      const left = new Set(timers)
      for (let i = 0; left.size > 0; i++) {
        const first = heap.first!
        expect(left.has(first)).toBe(true)
        if (i % 50 === 0) expect(first).toBe([...left].sort(order)[0])
        expect(heap.firstKey).toBe(keys.get(first))
        heap.pop()
        left.delete(first)
        if (i < 3000 && i % 10 === 0) left.add(any(MOMENT - 1 + random.below(3), MANY + i))
      }
      expect(heap.first).toBeUndefined()
    })

    it('gives up none of them', () => {
      const { heap, timers } = crowded(15)
      const sorted = timers.toSorted(order)
      for (let i = 0; i < 1000; i++) heap.pop()
      const { from, timers: late } = heap.removeLate(4000)!
      expect(late.length).toBeGreaterThan(0)
      expect(late.every(({ time }) => time >= from && time > MOMENT)).toBe(true)
      expect(drain(heap)).toEqual(sorted.slice(1000).filter(({ time }) => time < from))
    })
  })

  it('is empty at first', () => {
    expect(new TimerHeap().first).toBeUndefined()
  })
})
