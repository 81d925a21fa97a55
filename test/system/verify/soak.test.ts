import { expect, it } from 'vitest'
import { runSoak } from '../../../verify/soak/campaign.ts'
import { commitSeed } from '../../services/commit-seed.ts'

/**
 * What a run of a minute cannot judge. Retention removes its first records after about two minutes. The memory of a
 * dropped version's rows (`external`) goes with a later collection, about 20 MB at a time. Checkpoints, log and
 * resident memory need longer to level off, too: `npm run verify -- --campaign soak`.
 */
const NEEDS_LONGER =
  /^(retention has removed|checkpointBytes|checkpointFiles|logBytes|logFiles|resident|external) /

/** The short form: only fast growth fails it. */
it('a learning job holds no more memory and files after switches of versions than before', async () => {
  const seed = commitSeed()
  const report = await runSoak({ seed, minutes: 1.4, switchMs: 6_000, say: () => undefined })
  process.stdout.write(`${JSON.stringify(report)}\n`)
  const violations = report.violations.filter((violation) => !NEEDS_LONGER.test(violation))
  expect(violations, `WEIR_SEED=${seed}`).toEqual([])
  expect(report.errors).toEqual({})
  expect(report.switches).toBeGreaterThan(8)
  expect(report.queries).toBeGreaterThan(1_000)
}, 240_000)
