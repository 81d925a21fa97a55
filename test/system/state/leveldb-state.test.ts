import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { openStateStore } from '../../../src/state/store/open.ts'
import { stateStoreContract } from '../../contracts/state-store.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { Backends } from '../../state/keyed-state-fixture.ts'
import { KeyedStateSimulation } from '../../state/keyed-state-simulation.ts'

const directory = mkdtempSync(join(tmpdir(), 'weir-leveldb-'))
const backends = new Backends()
afterEach(() => backends.release())
afterAll(() => {
  backends.delete()
  rmSync(directory, { recursive: true, force: true })
})

stateStoreContract('leveldb', () => openStateStore('leveldb', directory))

describe('keyed state on LevelDB', () => {
  it('agrees with plain maps over random operations, checkpoints and restores', async ({
    onTestFailed,
  }) => {
    const seed = commitSeed()
    onTestFailed(() => console.log(`WEIR_SEED=${seed}`))
    const simulation = new KeyedStateSimulation(backends, seed, 'leveldb', 90_000)
    await simulation.run(campaignSize(600, 1_500))
    expect(simulation.restores).toBeGreaterThan(0)
  })
})
