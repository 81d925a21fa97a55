import { expect, it } from 'vitest'
import { runCombinations } from '../../combinations/campaign.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'

/**
 * The first trials of a table have the most pairs of parts; each seed has others. All of it, some 80, are in
 * `npm run verify -- --campaign combinations`.
 */
const COUNT = campaignSize(40, Number.POSITIVE_INFINITY, 40)

it('parts put together with the defaults lose nothing, and answer and measure as their rows do', async () => {
  const seed = commitSeed()
  const report = await runCombinations({ seed, count: COUNT })
  process.stdout.write(`${JSON.stringify(report)}\n`)
  expect(report.violations, `WEIR_SEED=${seed}`).toEqual([])
  expect(report).toMatchObject({ verdict: 'passed', wrong: 0, lost: 0 })
  expect(report.trials).toBe(Math.min(COUNT, report.table))
}, 3_600_000)
