import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { murmur3 } from '../../../src/core/hash/murmur3.ts'
import { keyGroupOf } from '../../../src/core/key-group.ts'
import { MetricGroup } from '../../../src/core/metrics.ts'
import { float64Serializer } from '../../../src/core/serializer.ts'
import { listState, valueState } from '../../../src/state/port/descriptors.ts'
import { FrequentKey } from '../../../src/state/port/frequent-key.ts'
import { HeapStateStore } from '../../../src/state/store/heap.ts'
import { SubtaskKeyedState } from '../../../src/state/subtask-keyed-state.ts'

function setUp(memoryBudgetBytes?: number) {
  const backend = new SubtaskKeyedState(
    {
      operatorUid: 'sums',
      slot: 0,
      keyGroups: { first: 0, last: 15 },
      maxParallelism: 16,
      memoryBudgetBytes: memoryBudgetBytes ?? 2 ** 30,
      clock: systemClock,
      listener: { tableOpened() {}, tableDropped() {}, queryableDeclared() {} },
      metrics: new MetricGroup(),
    },
    memoryBudgetBytes === undefined ? undefined : new HeapStateStore(),
  )
  backend.setSpillSink({ append() {} })
  const sum = backend.value(valueState<number>('sum', { serializer: float64Serializer }))
  const list = backend.list(listState<number>('list', { serializer: float64Serializer }))
  const select = (text: string): void =>
    backend.setCurrentKey(Buffer.from(text), keyGroupOf(Buffer.from(text), 16))
  return { backend, sum, list, select }
}

function frequentKey(text: string, key = new FrequentKey()): FrequentKey {
  const bytes = Buffer.from(text)
  key.set(bytes, 0, bytes.length, murmur3(bytes) | 0, keyGroupOf(bytes, 16))
  return key
}

describe('state of a frequent key', () => {
  it('is that of the key, however it is selected', () => {
    const { backend, sum, list, select } = setUp()
    const key = frequentKey('a')
    backend.setFrequentKey(key)
    expect(sum.value()).toBeUndefined()
    sum.update(1)
    backend.setFrequentKey(key)
    expect(sum.value()).toBe(1)
    list.add(5)
    select('a')
    expect([sum.value(), list.get()]).toEqual([1, [5]])
    sum.update(2)
    select('b')
    expect(sum.value()).toBeUndefined()
    backend.setFrequentKey(key)
    expect([sum.value(), list.get()]).toEqual([2, [5]])
  })

  it('is found again after it was cleared, by the key or not', () => {
    const { backend, sum, select } = setUp()
    const key = frequentKey('a')
    for (const clear of [() => backend.setFrequentKey(key), () => select('a')]) {
      backend.setFrequentKey(key)
      sum.update(1)
      backend.setFrequentKey(key)
      expect(sum.value()).toBe(1)
      clear()
      sum.clear()
      backend.setFrequentKey(key)
      expect(sum.value()).toBeUndefined()
      select('a')
      sum.update(3)
      backend.setFrequentKey(key)
      expect(sum.value()).toBe(3)
    }
  })

  it('has a namespace as that of other keys', () => {
    const { backend, sum } = setUp()
    const key = frequentKey('a')
    backend.setFrequentKey(key)
    sum.update(1)
    backend.setFrequentKey(key)
    expect(sum.value()).toBe(1)
    backend.setCurrentNamespace(Buffer.from('window'))
    expect(sum.value()).toBeUndefined()
    sum.update(2)
    backend.setFrequentKey(key)
    expect(sum.value()).toBe(2)
    backend.setCurrentNamespace(new Uint8Array(0))
    expect(sum.value()).toBe(1)
  })

  it('is that of the lasting namespace that is selected', () => {
    const { backend, sum, select } = setUp()
    const key = frequentKey('a')
    const [first, second] = [Buffer.from('window 1'), Buffer.from('window 2')]
    const at = (namespace: Uint8Array): number | undefined => {
      backend.setFrequentKey(key)
      backend.setLastingNamespace(namespace)
      return sum.value()
    }
    for (const [n, namespace] of [first, second].entries()) {
      expect(at(namespace)).toBeUndefined()
      sum.update(n)
      expect([at(namespace), at(namespace)]).toEqual([n, n])
    }
    expect([at(first), at(second), at(Buffer.from('window 1'))]).toEqual([0, 1, 0])
    backend.setCurrentNamespace(new Uint8Array(0))
    expect(sum.value()).toBeUndefined()
    expect(at(first)).toBe(0)
    select('a')
    sum.clear()
    expect(at(first)).toBeUndefined()
    select('b')
    expect(sum.value()).toBeUndefined()
  })

  it('is not remembered in a namespace whose bytes change', () => {
    const { backend, sum } = setUp()
    const key = frequentKey('a')
    const scratch = Buffer.from('window 1')
    const at = (text: string): number | undefined => {
      scratch.write(text)
      backend.setFrequentKey(key)
      backend.setCurrentNamespace(scratch)
      return sum.value()
    }
    expect(at('window 1')).toBeUndefined()
    sum.update(1)
    expect([at('window 1'), at('window 1'), at('window 2')]).toEqual([1, 1, undefined])
  })

  it('is not that of the key whose object is used again', () => {
    const { backend, sum } = setUp()
    const key = frequentKey('a')
    backend.setFrequentKey(key)
    sum.update(1)
    backend.setFrequentKey(key)
    expect(sum.value()).toBe(1)
    backend.setFrequentKey(frequentKey('b', key))
    expect(sum.value()).toBeUndefined()
  })

  it.each([
    ['the same object', (key: FrequentKey) => key],
    ['an object that has become another key', (key: FrequentKey) => frequentKey('b', key)],
    ['an object whose key is longer now', (key: FrequentKey) => frequentKey('ab', key)],
  ])('is read and remembered when its timer fires, by %s', (_, become) => {
    const { backend, sum, select } = setUp()
    const timers = backend.timers('event')
    const key = frequentKey('a')
    backend.setFrequentKey(key)
    sum.update(1)
    timers.register(10)
    backend.keyMemory.remember({ of: 'a' })
    become(key)
    select('c')
    expect(Buffer.from(timers.poll(10)!.key).toString()).toBe('a')
    expect(sum.value()).toBe(1)
    const isSame = Buffer.from(key.bytes).toString() === 'a'
    expect(backend.keyMemory.remembered()).toEqual(isSame ? { of: 'a' } : undefined)
    sum.update(2)
    select('a')
    expect(sum.value()).toBe(2)
  })

  it('comes back from the store after it has left memory', () => {
    const { backend, sum, select } = setUp(20_000)
    const key = frequentKey('a')
    backend.setFrequentKey(key)
    sum.update(1)
    backend.setFrequentKey(key)
    expect(sum.value()).toBe(1)
    for (let n = 0; n < 1000; n++) {
      select(`other-${n}`)
      sum.update(n)
    }
    backend.setFrequentKey(key)
    expect(sum.value()).toBe(1)
    sum.update(2)
    select('a')
    expect(sum.value()).toBe(2)
  })
})
