import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { float64Serializer } from '../../../src/core/serializer.ts'
import { listState, mapState, valueState } from '../../../src/state/port/descriptors.ts'
import type { StateStoreType } from '../../../src/state/store/state-store.ts'
import {
  Backends,
  finish,
  restoreFrom,
  Segment,
  StandingClock,
  select,
} from '../keyed-state-fixture.ts'

const backends = new Backends()
afterEach(() => backends.release())
afterAll(() => backends.delete())

const counter = (renewOn: 'write' | 'read-and-write' = 'write') =>
  valueState<number>('count', { serializer: float64Serializer, ttl: { ttlMs: 100, renewOn } })

describe.each<{ storeType: StateStoreType; budget: number }>([
  { storeType: 'heap', budget: 0 },
  { storeType: 'rocksdb', budget: 1 },
])('state with a time to live on $storeType', ({ storeType, budget }) => {
  const open = async () => {
    const clock = new StandingClock()
    return { clock, backend: await backends.create({ storeType, budget, clock }) }
  }

  it('reads as missing once its time is over', async () => {
    const { clock, backend } = await open()
    const count = backend.value(counter())
    select(backend, 'a')
    count.update(1)
    clock.now += 99
    expect(count.value()).toBe(1)
    clock.now += 1
    expect(count.value()).toBeUndefined()
    count.update(2)
    expect(count.value()).toBe(2)
  })

  it('is renewed by writes, and by reads if so declared', async () => {
    const { clock, backend } = await open()
    const onWrite = backend.value(counter())
    const onRead = backend.value({ ...counter('read-and-write'), name: 'read' })
    select(backend, 'a')
    onWrite.update(1)
    onRead.update(1)
    clock.now += 60
    expect([onWrite.value(), onRead.value()]).toEqual([1, 1])
    clock.now += 60
    expect([onWrite.value(), onRead.value()]).toEqual([undefined, 1])
  })

  it('expires map entries one by one and lists as a whole', async () => {
    const { clock, backend } = await open()
    const ttl = { ttlMs: 100 }
    const map = backend.map(mapState<string, number>('map', { ttl }))
    const list = backend.list(listState<number>('list', { ttl }))
    select(backend, 'a')
    map.put('x', 1)
    list.add(1)
    clock.now += 60
    map.put('y', 2)
    list.add(2)
    clock.now += 60
    expect([...map.entries()]).toEqual([['y', 2]])
    expect(map.has('x')).toBe(false)
    expect(list.get()).toEqual([1, 2])
    clock.now += 60
    expect([map.isEmpty(), list.get()]).toEqual([true, []])
  })

  it('is not in snapshots and is not restored after it expired', async () => {
    const { clock, backend } = await open()
    const count = backend.value(counter())
    select(backend, 'gone')
    count.update(1)
    const first = new Segment()
    backend.setSpillSink(first)
    clock.now += 60
    select(backend, 'kept')
    count.update(2)
    clock.now += 60
    finish(backend.snapshot(1, first, true))
    const live = first.changes.filter((change) => change.value !== undefined)
    expect(live.length).toBeGreaterThan(0)
    const restored = await open()
    restored.clock.now = clock.now
    restoreFrom(restored.backend, backend, [first])
    const again = restored.backend.value(counter())
    const read = (key: string): number | undefined => {
      select(restored.backend, key)
      return again.value()
    }
    expect([read('gone'), read('kept')]).toEqual([undefined, 2])
    restored.clock.now += 60
    expect(read('kept')).toBeUndefined()
  })
})

describe('expired entries that are never read', () => {
  it('are removed by the writes of others', async () => {
    const clock = new StandingClock()
    const backend = await backends.create({ clock })
    const count = backend.value(counter())
    for (let n = 0; n < 100; n++) {
      select(backend, `k${n}`)
      count.update(n)
    }
    const before = backends.metrics.snapshot()['typedStateBytes']!
    clock.now += 200
    select(backend, 'other')
    for (let n = 0; n < 100; n++) count.update(n)
    expect(backends.metrics.snapshot()['typedStateBytes']).toBeLessThan(before / 10)
  })
})
