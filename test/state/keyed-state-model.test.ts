import { afterAll, afterEach, describe, expect, it } from 'vitest'
import type { StateStoreType } from '../../src/state/store/state-store.ts'
import { campaignSize } from '../run/campaign-size.ts'
import { commitSeed } from '../services/commit-seed.ts'
import { Backends } from './keyed-state-fixture.ts'
import { KeyedStateSimulation } from './keyed-state-simulation.ts'

const backends = new Backends()
afterEach(() => backends.release())
afterAll(() => backends.delete())

const seed = commitSeed()

describe.each<{ storeType: StateStoreType; budget: number; steps: number }>([
  { storeType: 'heap', budget: 0, steps: campaignSize(3_000, 23_000) },
  { storeType: 'rocksdb', budget: 1, steps: campaignSize(1_200, 7_200) },
  { storeType: 'rocksdb', budget: 100_000, steps: campaignSize(1_800, 13_800) },
])('random operations with checkpoints and restores', ({ storeType, budget, steps }) => {
  it(`agree with plain maps on ${storeType} with ${budget} bytes`, async ({ onTestFailed }) => {
    onTestFailed(() => console.log(`WEIR_SEED=${seed}`))
    const simulation = new KeyedStateSimulation(backends, seed, storeType, budget)
    await simulation.run(steps)
    expect(simulation.restores).toBeGreaterThan(0)
  }, 300_000)
})
