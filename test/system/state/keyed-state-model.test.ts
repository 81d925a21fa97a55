import { afterAll, afterEach, describe, expect, it } from 'vitest'
import type { StateStoreType } from '../../../src/state/store/state-store.ts'
import { Backends } from '../../state/keyed-state-fixture.ts'
import { KeyedStateSimulation } from '../../state/keyed-state-simulation.ts'

const backends = new Backends()
afterEach(() => backends.release())
afterAll(() => backends.delete())

describe.each<{ storeType: StateStoreType; budget: number; seed: number; steps: number }>([
  { storeType: 'heap', budget: 0, seed: 11, steps: 20_000 },
  { storeType: 'rocksdb', budget: 1, seed: 12, steps: 6_000 },
  { storeType: 'rocksdb', budget: 100_000, seed: 13, steps: 12_000 },
])(
  'long runs of random operations with checkpoints and restores',
  ({ storeType, budget, seed, steps }) => {
    it(`agree with plain maps on ${storeType} with ${budget} bytes (seed ${seed})`, async () => {
      const simulation = new KeyedStateSimulation(backends, seed, storeType, budget)
      await simulation.run(steps)
      expect(simulation.restores).toBeGreaterThan(0)
    })
  },
)
