import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { listState, mapState, valueState } from '../../../src/state/port/descriptors.ts'
import type { StateStoreType } from '../../../src/state/store/state-store.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
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

const TTL_MS = 100
const elements = listState<number>('elements', { ttl: { ttlMs: TTL_MS, perElement: true } })

describe.each<{ storeType: StateStoreType; budget: number }>([
  { storeType: 'heap', budget: 0 },
  { storeType: 'rocksdb', budget: 1 },
])('a list whose elements expire one by one, on $storeType', ({ storeType, budget }) => {
  it('has the elements that a list of them with their times has, also after restores', async () => {
    const random = seededRandom(commitSeed())
    const clock = new StandingClock()
    let backend = await backends.create({ storeType, budget, clock })
    let list = backend.list(elements)
    const model = new Map<string, { readonly value: number; readonly until: number }[]>()
    const steps = campaignSize(3_000, 10_000)
    for (let step = 0; step < steps; step++) {
      clock.now += random.below(8)
      const key = `key-${random.below(5)}`
      select(backend, key)
      const until = clock.now + TTL_MS
      const before = model.get(key) ?? []
      const values = Array.from({ length: random.below(4) }, () => random.below(1000))
      const added = values.map((value) => ({ value, until }))
      switch (random.below(40)) {
        case 0:
          list.clear()
          model.delete(key)
          break
        case 1:
          list.update(values)
          model.set(key, added)
          break
        case 2: {
          const segment = new Segment()
          finish(backend.snapshot(1, segment, true))
          const next = await backends.create({ storeType, budget, clock })
          const restored = next.list(elements)
          restoreFrom(next, backend, [segment])
          backend = next
          list = restored
          break
        }
        default:
          if (values.length === 1) list.add(values[0]!)
          else list.addAll(values)
          model.set(key, [...before, ...added])
      }
      select(backend, key)
      const left = (model.get(key) ?? []).filter((each) => each.until > clock.now)
      if (random.below(3) > 0) expect(list.get()).toEqual(left.map(({ value }) => value))
    }
  })

  it('keeps no more than about as many again in state, whether it is read or not', async () => {
    const clock = new StandingClock()
    const backend = await backends.create({ storeType, budget, clock })
    const list = backend.list(elements)
    select(backend, 'a')
    for (let n = 0; n < 10_000; n++) {
      clock.now += 1
      list.add(n)
    }
    const segment = new Segment()
    finish(backend.snapshot(1, segment, true))
    const bytes = segment.changes.reduce((sum, { value }) => sum + (value?.length ?? 0), 0)
    // About 12 bytes an element: 100 live ones, as many expired, and those until the next look.
    expect(bytes).toBeLessThan(12 * 4 * TTL_MS)
    expect(list.get()).toHaveLength(TTL_MS)
  })

  it('leaves nothing of a key that is not looked at again', async () => {
    const clock = new StandingClock()
    const backend = await backends.create({ storeType, budget, clock })
    const list = backend.list(elements)
    select(backend, 'a')
    list.add(1)
    clock.now += TTL_MS
    const segment = new Segment()
    finish(backend.snapshot(1, segment, true))
    const next = await backends.create({ storeType, budget, clock })
    const restored = next.list(elements)
    restoreFrom(next, backend, [segment])
    const after = new Segment()
    finish(next.snapshot(2, after, true))
    expect(after.changes.filter(({ value }) => value !== undefined)).toEqual([])
    select(next, 'a')
    expect(restored.get()).toEqual([])
  })
})

describe('a time to live of elements', () => {
  it('is refused where there are no elements, where reads renew, and where clients query', () => {
    const ttl = { ttlMs: 1, perElement: true } as const
    expect(() => mapState('m', { ttl })).toThrow('listState')
    expect(() => valueState('v', { ttl })).toThrow('listState')
    expect(() => listState('l', { ttl: { ...ttl, renewOn: 'read-and-write' } })).toThrow('renewOn')
    expect(() => listState('l', { ttl, queryableName: 'L' })).toThrow('queryableName')
  })
})
