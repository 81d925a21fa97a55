import { expect, it } from 'vitest'
import { runDamageCampaign } from './damage-campaign.ts'

const seed = Number(process.env['WEIR_SEED'] ?? 1)

it.each([
  ['checkpoints and model files', ['checkpoints', 'model'], 50],
  ['files of a log', ['log'], 50],
  ['files of a model registry', ['registry'], 20],
] as const)(
  'damaged %s give the same data or an error that names the file (a sample)',
  async (_, parts, cases) => {
    const report = await runDamageCampaign({ seed, cases, parts })
    expect(report.violations, `WEIR_SEED=${seed}`).toEqual([])
    expect(report.refused + report.fellBack).toBeGreaterThan(cases / 4)
  },
  60_000,
)
