import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { stringSerializer } from '../../src/core/serializer.ts'
import { valueState } from '../../src/state/port/descriptors.ts'
import type { KeyedStateBackend } from '../../src/state/port/keyed-state-backend.ts'
import { SlotMemory } from '../../src/state/slot-memory.ts'
import { Backends, Segment, select } from './keyed-state-fixture.ts'

const backends = new Backends()
afterEach(() => backends.release())
afterAll(() => backends.delete())

const TOTAL = 1_000_000

describe('the memory of a slot', () => {
  it('leaves a user what the others do not take', () => {
    const memory = new SlotMemory(100)
    const [a, b] = [{ memoryBytes: 70 }, { memoryBytes: 40 }]
    memory.add(a)
    memory.add(b)
    expect([memory.leftFor(a), memory.leftFor(b)]).toEqual([60, 30])
    memory.delete(a)
    expect(memory.leftFor(b)).toBe(100)
  })

  it('is taken by the one operator that needs it, and given back when another one needs its share', async () => {
    const slotMemory = new SlotMemory(TOTAL)
    const open = async (): Promise<KeyedStateBackend & { readonly memoryBytes: number }> => {
      const budget = TOTAL / 2
      const backend = await backends.create({ storeType: 'rocksdb', budget, slotMemory })
      backend.setSpillSink(new Segment())
      return backend as KeyedStateBackend & { readonly memoryBytes: number }
    }
    const fill = (backend: KeyedStateBackend, from: number): void => {
      const state = backend.value(valueState('value', { serializer: stringSerializer }))
      for (let n = from; n < from + 2000; n++) {
        select(backend, `k${n}`)
        state.update('v'.repeat(1000))
      }
    }
    const [a, b] = [await open(), await open()]
    fill(a, 0)
    expect(a.memoryBytes).toBeGreaterThan(TOTAL * 0.9)
    fill(b, 0)
    expect(b.memoryBytes).toBeGreaterThan(TOTAL * 0.4)
    fill(a, 2000)
    expect(a.memoryBytes).toBeGreaterThan(TOTAL * 0.4)
    expect(a.memoryBytes + b.memoryBytes).toBeLessThan(TOTAL * 1.05)
  })
})
