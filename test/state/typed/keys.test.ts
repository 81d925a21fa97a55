import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { mapState, valueState } from '../../../src/state/port/descriptors.ts'
import type { StateStoreType } from '../../../src/state/store/state-store.ts'
import { Backends, StandingClock, select, show, text } from '../keyed-state-fixture.ts'

const backends = new Backends()
afterEach(() => backends.release())
afterAll(() => backends.delete())

const KEYS = Array.from({ length: 50 }, (_, i) => `key-${i}`)

describe.each<{ storeType: StateStoreType; budget: number }>([
  { storeType: 'heap', budget: 0 },
  { storeType: 'rocksdb', budget: 1 },
])('the keys of a state on $storeType', ({ storeType, budget }) => {
  const keysOf = (backend: Awaited<ReturnType<typeof backends.create>>, state: typeof COUNT) =>
    backend.keysOf(state).map(show).sort()
  const COUNT = valueState<number>('count')

  it('are those that have a value, each once, and not those that were cleared', async () => {
    const backend = await backends.create({ storeType, budget })
    const count = backend.value(COUNT)
    for (const key of KEYS) {
      select(backend, key)
      count.update(1)
    }
    select(backend, 'key-7')
    count.clear()
    select(backend, 'key-8')
    count.update(2)
    expect(keysOf(backend, COUNT)).toEqual(KEYS.filter((key) => key !== 'key-7').sort())
  })

  it('of a map count once however many entries they have', async () => {
    const backend = await backends.create({ storeType, budget })
    const descriptor = mapState<string, number>('map')
    const map = backend.map(descriptor)
    for (const key of KEYS) {
      select(backend, key)
      map.put('a', 1)
      map.put('b', 2)
    }
    select(backend, 'key-3')
    map.remove('a')
    map.remove('b')
    const keys = backend.keysOf(descriptor).map(show).sort()
    expect(keys).toEqual(KEYS.filter((key) => key !== 'key-3').sort())
  })

  it('are not those of windows, nor those whose time is over', async () => {
    const clock = new StandingClock()
    const backend = await backends.create({ storeType, budget, clock })
    const descriptor = valueState<number>('count', { ttl: { ttlMs: 100 } })
    const count = backend.value(descriptor)
    select(backend, 'old')
    count.update(1)
    clock.now += 50
    select(backend, 'new')
    count.update(1)
    backend.setCurrentNamespace(text('window'))
    select(backend, 'in a window')
    count.update(1)
    clock.now += 60
    expect(backend.keysOf(descriptor).map(show)).toEqual(['new'])
  })
})
