import { expect, it } from 'vitest'
import { campaignSize } from '../run/campaign-size.ts'
import { commitSeed } from '../services/commit-seed.ts'
import { runDamageCampaign } from './damage-campaign.ts'

const seed = commitSeed()

it.each([
  ['checkpoints and model files', ['checkpoints', 'model'], campaignSize(60, 400)],
  ['files of a log', ['log'], campaignSize(60, 400)],
  ['files of a model registry', ['registry'], campaignSize(20, 100)],
] as const)(
  'damaged %s give the same data or an error that names the file, and no whole file is touched',
  async (_, parts, cases) => {
    const report = await runDamageCampaign({ seed, cases, parts })
    process.stdout.write(`${JSON.stringify(report)}\n`)
    expect(report.violations, `WEIR_SEED=${seed}`).toEqual([])
    expect(report.refused + report.fellBack).toBeGreaterThan(cases / 4)
  },
  900_000,
)
