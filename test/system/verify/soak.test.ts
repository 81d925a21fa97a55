import { expect, it } from 'vitest'
import { runSoak } from '../../../verify/soak/campaign.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'

/**
 * What a run of a minute cannot judge. Retention removes its first records after about two minutes. The memory of a
 * dropped version's rows (`external`) goes with a later collection, about 20 MB at a time. Checkpoints, log and
 * resident memory need longer to level off, too: `npm run verify -- --campaign soak`.
 */
const NEEDS_LONGER =
  /^(retention has removed|checkpointBytes|checkpointFiles|logBytes|logFiles|resident|external) /

/** What a quarter of a minute cannot judge, either: caches fill, and few collections have run. */
const NEEDS_A_MINUTE = campaignSize(/^(heapUsed|arrayBuffers) /, /^$/)

/** Only fast growth fails so short a run. */
const TIMES = campaignSize({ minutes: 0.25, switchMs: 1_500 }, { minutes: 1.4, switchMs: 6_000 })

/** What a busy machine does later than in {@link TIMES}. */
const LEAST = { switches: 9, queries: 1_001 }

it('a learning job holds no more memory and files after switches of versions than before', async () => {
  const seed = commitSeed()
  const report = await runSoak({ seed, ...TIMES, least: LEAST, say: () => undefined })
  process.stdout.write(`${JSON.stringify(report)}\n`)
  const violations = report.violations.filter(
    (violation) => !NEEDS_LONGER.test(violation) && !NEEDS_A_MINUTE.test(violation),
  )
  expect(violations, `WEIR_SEED=${seed}`).toEqual([])
  expect(report.errors).toEqual({})
  expect(report.switches).toBeGreaterThanOrEqual(LEAST.switches)
  expect(report.queries).toBeGreaterThanOrEqual(LEAST.queries)
})
