import { expect, it } from 'vitest'
import { runCombinations } from '../../combinations/campaign.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'

const seed = commitSeed()
/**
 * Shares of all pairs of parts, of which a run has one, by the seed: a fifteenth has some 10 trials, and all have each pair.
 * Commits whose short part verifies faults (`cli/verify.test.ts`) have a sixtieth. The trials of a seed are others than those
 * of the next. All pairs, in some 120 trials, are in `npm run verify -- --campaign combinations`.
 */
const SHARES = campaignSize(seed % 2 === 0 ? 60 : 15, 1, 5)

it(
  'parts put together with the defaults lose nothing, and answer and measure as their rows do',
  async () => {
    const share = { of: SHARES, turn: (seed >> 1) % SHARES }
    const report = await runCombinations({ seed, share })
    process.stdout.write(`${JSON.stringify(report)}\n`)
    expect(report.violations, `WEIR_SEED=${seed}`).toEqual([])
    expect(report).toMatchObject({ verdict: 'passed', wrong: 0, lost: 0 })
    expect(report.trials).toBe(report.table)
  },
  campaignSize(900_000, 3_600_000, 900_000),
)
