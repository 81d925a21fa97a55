import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/core/random.ts'
import { bytesSerializer } from '../../src/core/serializer.ts'
import { valueState } from '../../src/state/descriptors.ts'
import type { StateStoreType } from '../../src/state/state-store.ts'
import { Backends, finish, Segment, select } from '../state/keyed-state-fixture.ts'

const backends = new Backends()
afterEach(() => backends.release())
afterAll(() => backends.delete())

const MEGABYTE = 1024 * 1024
const BUDGET = 16 * MEGABYTE
const VALUE_BYTES = 10_000
const KEYS = 20_000

describe.each<{ storeType: StateStoreType }>([{ storeType: 'rocksdb' }, { storeType: 'leveldb' }])(
  'typed state on $storeType far above its budget',
  ({ storeType }) => {
    it('keeps 200 MB of values with 16 MB of memory', async () => {
      const backend = await backends.create({ storeType, budget: BUDGET })
      const accounted = (): number => backends.metrics.snapshot()['typedStateBytes']!
      let spilled = 0
      backend.setSpillSink({ append: () => void spilled++ })
      const state = backend.value(valueState<Uint8Array>('blob', { serializer: bytesSerializer }))
      let peak = 0
      for (let n = 0; n < KEYS; n++) {
        select(backend, `key-${n}`)
        state.update(new Uint8Array(VALUE_BYTES).fill(n % 251))
        if (n % 100 === 0) peak = Math.max(peak, accounted())
      }
      expect(spilled).toBeGreaterThan(KEYS * 0.9)
      const random = seededRandom(5)
      for (let n = 0; n < 5000; n++) {
        const key = random.below(KEYS)
        select(backend, `key-${key}`)
        const value = state.value()!
        expect([value.length, value[0], value[VALUE_BYTES - 1]]).toEqual([
          VALUE_BYTES,
          key % 251,
          key % 251,
        ])
        if (n % 100 === 0) peak = Math.max(peak, accounted())
      }
      expect(peak).toBeLessThanOrEqual(BUDGET)
      expect(peak).toBeGreaterThan(BUDGET / 2)
      let entries = 0
      const full = backend.snapshot(1, { append: () => void entries++ }, true)
      finish(full)
      expect(entries).toBe(KEYS)
      const incremental = new Segment()
      finish(backend.snapshot(2, incremental, false))
      expect(incremental.changes).toEqual([])
    })
  },
)
