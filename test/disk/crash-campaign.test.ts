import { expect, it } from 'vitest'
import { campaignSize } from '../run/campaign-size.ts'
import { commitSeed } from '../services/commit-seed.ts'
import { runCrashCampaign } from './crash-campaign.ts'

const seed = commitSeed()

/** The whole has a crash at every file operation of each seed. The short part has more seeds for its number. */
const SIZE = campaignSize(
  { schedules: { checkpoints: 20, log: 40, registry: 10 }, stride: 20 },
  { schedules: { checkpoints: 500, log: 1200, registry: 300 }, stride: 1 },
)

it('loses nothing that was acknowledged, whenever a process dies, also on disks that fail', async () => {
  const report = await runCrashCampaign({ seed, ...SIZE })
  process.stdout.write(`${JSON.stringify(report)}\n`)
  expect(report.violations, `WEIR_SEED=${seed}`).toEqual([])
}, 900_000)
