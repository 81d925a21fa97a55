import { afterAll, afterEach, describe, expect, it } from 'vitest'
import type { StateStoreType } from '../../src/state/store/state-store.ts'
import { Backends } from './keyed-state-fixture.ts'
import { KeyedStateSimulation } from './keyed-state-simulation.ts'

const backends = new Backends()
afterEach(() => backends.release())
afterAll(() => backends.delete())

describe.each<{ storeType: StateStoreType; budget: number; seed: number; steps: number }>([
  { storeType: 'heap', budget: 0, seed: 1, steps: 3_000 },
  { storeType: 'rocksdb', budget: 1, seed: 2, steps: 1_200 },
  { storeType: 'rocksdb', budget: 100_000, seed: 3, steps: 1_800 },
])('random operations with checkpoints and restores', ({ storeType, budget, seed, steps }) => {
  it(`agree with plain maps on ${storeType} with ${budget} bytes (seed ${seed})`, async () => {
    const simulation = new KeyedStateSimulation(backends, seed, storeType, budget)
    await simulation.run(steps)
    expect(simulation.restores).toBeGreaterThan(0)
  })
})
