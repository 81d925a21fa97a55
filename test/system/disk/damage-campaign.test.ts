import { expect, it } from 'vitest'
import { runDamageCampaign } from '../../disk/damage-campaign.ts'
import { commitSeed } from '../../services/commit-seed.ts'

const seed = commitSeed()

it.each([
  ['checkpoints and model files', ['checkpoints', 'model'], 1000],
  ['a log', ['log'], 1000],
  ['a model registry', ['registry'], 200],
] as const)(
  'damage of %s is never silent, and no whole file is touched',
  async (_, parts, cases) => {
    const report = await runDamageCampaign({ seed, cases, parts })
    process.stdout.write(`${JSON.stringify(report)}\n`)
    expect(report.violations, `WEIR_SEED=${seed}`).toEqual([])
  },
  900_000,
)
