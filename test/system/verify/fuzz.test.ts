import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { runFuzz } from '../../../verify/fuzz/campaign.ts'
import { commitSeed } from '../../services/commit-seed.ts'

/** The short form; only a long run judges memory. */
it.skipIf(!existsSync('/proc/self/status'))(
  'mutated requests end no process, and good ones are still answered',
  async () => {
    const seed = commitSeed()
    const report = await runFuzz({ seed, minutes: 20 / 60, say: () => undefined })
    process.stdout.write(`${JSON.stringify(report)}\n`)
    const violations = report.violations.filter((text) => !text.includes('memory grew'))
    expect(violations, `WEIR_SEED=${seed}`).toEqual([])
    for (const { cases, good } of Object.values(report.ports)) {
      expect(cases).toBeGreaterThan(20)
      expect(good).toBeGreaterThan(0)
    }
  },
  240_000,
)
