import { describe, it } from 'vitest'
import {
  expectFaultIsSurvived,
  expectRoughWorldsKeepInvariants,
  FAULTS,
} from '../../checkpoint/simulation/worlds.ts'

describe('CheckpointCoordinator in a simulated world', () => {
  it('keeps its invariants in 40 rough worlds', async () => {
    await expectRoughWorldsKeepInvariants(1, 40)
  })

  it.each(FAULTS)('survives %s at every storage call', async (fault) => {
    await expectFaultIsSurvived(fault, 1)
  })
})
