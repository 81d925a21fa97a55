import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { murmur3 } from '../../../src/core/hash/murmur3.ts'
import { keyGroupOf } from '../../../src/core/key-group.ts'
import { MetricGroup } from '../../../src/core/metrics.ts'
import { float64Serializer } from '../../../src/core/serializer.ts'
import { openKeyedState } from '../../../src/state/open-keyed-state.ts'
import { valueState } from '../../../src/state/port/descriptors.ts'
import type { KeysAhead } from '../../../src/state/port/keyed-input.ts'
import { HeapStateStore } from '../../../src/state/store/heap.ts'
import {
  SubtaskKeyedState,
  type SubtaskKeyedStateOptions,
} from '../../../src/state/subtask-keyed-state.ts'

/** A store that counts reads. */
class CountingStore extends HeapStateStore {
  /** Keys of each read. */
  readonly reads: number[] = []

  override get(key: Uint8Array): Uint8Array | undefined {
    this.reads.push(1)
    return super.get(key)
  }

  override getMany(keys: readonly Uint8Array[]): (Uint8Array | undefined)[] {
    const values = keys.map((key) => super.get(key))
    this.reads.push(keys.length)
    return values
  }
}

const options = (memoryBudgetBytes: number): SubtaskKeyedStateOptions => ({
  operatorUid: 'sums',
  slot: 0,
  keyGroups: { first: 0, last: 15 },
  maxParallelism: 16,
  memoryBudgetBytes,
  clock: systemClock,
  listener: { tableOpened() {}, tableDropped() {}, queryableDeclared() {} },
  metrics: new MetricGroup(),
})

function keysAhead(keys: readonly Uint8Array[]): KeysAhead {
  const starts = keys.map((_, i) => keys.slice(0, i).reduce((at, key) => at + key.length, 0))
  return {
    bytes: Buffer.concat(keys),
    keyStarts: Int32Array.from(starts),
    keyLengths: Int32Array.from(keys, (key) => key.length),
    hashes: Int32Array.from(keys, (key) => murmur3(key) | 0),
    frequent: [],
    count: keys.length,
  }
}

describe('reading typed state ahead', () => {
  it('changes nothing, whatever the keys are: present, missing, long or with zero bytes', async () => {
    const backend = await openKeyedState({
      ...options(2 ** 20),
      storeType: 'heap',
      storeDirectory: '',
    })
    const sum = backend.value(valueState<number>('sum', { serializer: float64Serializer }))
    const select = (key: Uint8Array): void => backend.setCurrentKey(key, keyGroupOf(key, 16))
    const keyOf = (n: number): Uint8Array => Buffer.from(`${n}`)
    for (let n = 0; n < 20_000; n++) {
      select(keyOf(n))
      sum.update(n + 0.5)
    }
    const ahead = [keyOf(3), keyOf(70_000), Buffer.alloc(500, 1), Buffer.alloc(9), Buffer.alloc(0)]
    backend.readAhead(keysAhead(ahead))
    const values = ahead.map((key) => {
      select(key)
      return sum.value()
    })
    const known = ahead.map((key, i) => {
      backend.setKeyAhead(key, keyGroupOf(key, 16), i)
      return sum.value()
    })
    expect(known).toEqual(values)
    backend.setKeyAhead(keyOf(3), keyGroupOf(keyOf(3), 16), 0)
    backend.setCurrentNamespace(Buffer.from('window'))
    expect(sum.value()).toBeUndefined()
    sum.update(7)
    select(keyOf(3))
    expect(sum.value()).toBe(7)
    backend.setCurrentNamespace(Buffer.alloc(0))
    expect(sum.value()).toBe(3.5)
    expect(values).toEqual([3.5, undefined, undefined, undefined, undefined])
    backend.close()
  })

  it('brings what is in the store in by one read for all keys, once they were read one by one', () => {
    const store = new CountingStore()
    const backend = new SubtaskKeyedState(options(100_000), store)
    backend.setSpillSink({ append() {} })
    const state = backend.value(valueState<number>('sum', { serializer: float64Serializer }))
    const key = (n: number): Uint8Array => Buffer.from(`key-${n}`)
    const write = (n: number): void => {
      backend.setCurrentKey(key(n), keyGroupOf(key(n), 16))
      state.update(n)
    }
    for (let n = 0; n < 2000; n++) write(n)
    const group = (from: number): number[] => [from, from, from + 1, from + 2, 9000 + from]
    const readGroup = (numbers: readonly number[]): void => {
      backend.readAhead(keysAhead(numbers.map(key)))
      for (const [i, n] of numbers.entries()) {
        backend.setKeyAhead(key(n), keyGroupOf(key(n), 16), i)
        expect(state.value()).toBe(n < 2000 ? n : undefined)
      }
    }
    readGroup(group(0))
    expect(store.reads.splice(0)).toEqual([1, 1, 1, 1])
    readGroup(group(10))
    readGroup(group(20))
    expect(store.reads.splice(0)).toEqual([5, 5])
    // What was brought in and not used ends it.
    backend.readAhead(keysAhead(group(30).map(key)))
    backend.readAhead(keysAhead(group(40).map(key)))
    expect(store.reads.splice(0)).toEqual([5])
    backend.close()
  })

  it('of a key that does not exist asks the store once, until the key is written', () => {
    const store = new CountingStore()
    const backend = new SubtaskKeyedState(options(100_000), store)
    backend.setSpillSink({ append() {} })
    const state = backend.value(valueState<number>('sum', { serializer: float64Serializer }))
    const select = (name: string): void => {
      const key = Buffer.from(name)
      backend.setCurrentKey(key, keyGroupOf(key, 16))
    }
    for (let n = 0; n < 2000; n++) {
      select(`key-${n}`)
      state.update(n)
    }
    for (let n = 0; n < 3; n++) {
      select('missing')
      expect(state.value()).toBeUndefined()
    }
    expect(store.reads).toEqual([1])
    select('missing')
    state.update(7)
    select('other')
    select('missing')
    expect(state.value()).toBe(7)
    state.clear()
    expect(state.value()).toBeUndefined()
    backend.close()
  })
})
