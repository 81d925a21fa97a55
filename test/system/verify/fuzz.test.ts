import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { runFuzz } from '../../../verify/fuzz/campaign.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { needs } from '../../run/needs.ts'
import { commitSeed } from '../../services/commit-seed.ts'

/** Only a long run judges memory. */
const SECONDS = campaignSize(5, 20)

it(
  'mutated requests end no process, and good ones are still answered',
  needs(existsSync('/proc/self/status'), 'memory is read in /proc'),
  async () => {
    const seed = commitSeed()
    const report = await runFuzz({ seed, minutes: SECONDS / 60, say: () => undefined })
    process.stdout.write(`${JSON.stringify(report)}\n`)
    const violations = report.violations.filter((text) => !text.includes('memory grew'))
    expect(violations, `WEIR_SEED=${seed}`).toEqual([])
    for (const { cases, good } of Object.values(report.ports)) {
      expect(cases).toBeGreaterThan(0)
      expect(good).toBeGreaterThan(0)
    }
  },
)
