import { expect, it } from 'vitest'
import { runCrashCampaign } from './crash-campaign.ts'

const seed = Number(process.env['WEIR_SEED'] ?? 1)

it('loses nothing that was acknowledged, whenever a process dies (a sample)', async () => {
  const report = await runCrashCampaign({
    seed,
    schedules: { checkpoints: 50, log: 100, registry: 30 },
  })
  expect(report.violations, `WEIR_SEED=${seed}`).toEqual([])
})
