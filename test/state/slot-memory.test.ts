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

type Backend = KeyedStateBackend & { readonly memoryBytes: number }

async function open(slotMemory: SlotMemory, budget: number): Promise<Backend> {
  const backend = await backends.create({ storeType: 'rocksdb', budget, slotMemory })
  backend.setSpillSink(new Segment())
  return backend as Backend
}

/** Two megabytes of values. */
function fill(backend: KeyedStateBackend, from: number): void {
  const state = backend.value(valueState('value', { serializer: stringSerializer }))
  for (let n = from; n < from + 2000; n++) {
    select(backend, `k${n}`)
    state.update('v'.repeat(1000))
  }
}

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

  it('gives each user of a thread an even share, as many as there are', () => {
    const memory = new SlotMemory(100, { sharesEvenly: true })
    const users = [{ memoryBytes: 0 }, { memoryBytes: 0 }, { memoryBytes: 0 }] as const
    const shares = users.map((user) => {
      memory.add(user)
      return memory.evenShare
    })
    expect(shares).toEqual([100, 50, 33])
    memory.delete(users[0])
    expect(memory.evenShare).toBe(50)
    expect(new SlotMemory(100).evenShare).toBeUndefined()
  })

  it('of a thread is given back in part when one more comes that needs it', async () => {
    const slotMemory = new SlotMemory(TOTAL, { sharesEvenly: true })
    // Each alone would be allowed all of it.
    const a = await open(slotMemory, TOTAL)
    fill(a, 0)
    expect(a.memoryBytes).toBeGreaterThan(TOTAL * 0.9)
    const b = await open(slotMemory, TOTAL)
    fill(b, 0)
    fill(a, 2000)
    expect(b.memoryBytes).toBeGreaterThan(TOTAL * 0.4)
    expect(a.memoryBytes + b.memoryBytes).toBeLessThan(TOTAL * 1.05)
  })

  it('is taken by the one operator that needs it, and given back when another one needs its share', async () => {
    const slotMemory = new SlotMemory(TOTAL)
    const [a, b] = [await open(slotMemory, TOTAL / 2), await open(slotMemory, TOTAL / 2)]
    fill(a, 0)
    expect(a.memoryBytes).toBeGreaterThan(TOTAL * 0.9)
    fill(b, 0)
    expect(b.memoryBytes).toBeGreaterThan(TOTAL * 0.4)
    fill(a, 2000)
    expect(a.memoryBytes).toBeGreaterThan(TOTAL * 0.4)
    expect(a.memoryBytes + b.memoryBytes).toBeLessThan(TOTAL * 1.05)
  })
})
