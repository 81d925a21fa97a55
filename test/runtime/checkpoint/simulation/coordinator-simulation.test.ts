import { describe, expect, it } from 'vitest'
import { campaignSize } from '../../../run/campaign-size.ts'
import { commitSeed } from '../../../services/commit-seed.ts'
import { SimulatedWorld, type WorldReport } from './simulated-world.ts'
import { expectFaultIsSurvived, expectRoughWorldsKeepInvariants, FAULTS, rough } from './worlds.ts'

/*
 * A failing run prints its seed; run that one alone with WEIR_SEED=<seed>. Invariants (see
 * SimulatedWorld): a restore gives the state of exactly one barrier cut, no file that a valid
 * manifest refers to is deleted, no completed checkpoint is lost, a fenced coordinator completes
 * nothing, savepoints are self-contained, and a world without faults completes checkpoints again.
 */

const seed = commitSeed()
const WORLDS = campaignSize(6, 60)
const STRIDE = campaignSize(8, 1)

describe('CheckpointCoordinator in a simulated world', { timeout: 120_000 }, () => {
  it('keeps its invariants when messages are lost, late or doubled, and calls and processes fail, pause or die', async () => {
    await expectRoughWorldsKeepInvariants(seed, seed + WORLDS - 1)
  })

  it.each(FAULTS)('survives %s at any storage call', async (fault) => {
    await expectFaultIsSurvived(fault, { seed, stride: STRIDE })
  })

  it('exercises compaction, savepoints and restarts', async () => {
    const reports = await Promise.all(
      [9, 17, 23, 24].map((seed) =>
        new SimulatedWorld({ ...rough(seed), steps: 900, fault: () => 'none' }).run(),
      ),
    )
    expect(reports.flatMap((report) => report.violations)).toEqual([])
    const sum = (count: (report: WorldReport) => number): number =>
      reports.reduce((total, report) => total + count(report), 0)
    expect(sum((report) => report.compacted)).toBeGreaterThan(3)
    expect(sum((report) => report.savepoints)).toBeGreaterThan(3)
    expect(sum((report) => report.restores)).toBeGreaterThan(6)
  })
})
