import { expect, it } from 'vitest'
import { runCrashCampaign } from '../../disk/crash-campaign.ts'
import { commitSeed } from '../../services/commit-seed.ts'

const seed = commitSeed()

it('loses nothing that was acknowledged in 10,000 crashes on disks that fail', async () => {
  const report = await runCrashCampaign({
    seed,
    schedules: { checkpoints: 2500, log: 6000, registry: 1500 },
  })
  process.stdout.write(`${JSON.stringify(report)}\n`)
  expect(report.violations, `WEIR_SEED=${seed}`).toEqual([])
}, 900_000)
