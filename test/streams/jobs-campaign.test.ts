import { describe, expect, it } from 'vitest'
import { campaignSize } from '../run/campaign-size.ts'
import { commitSeed } from '../services/commit-seed.ts'
import { type CaseKind, runStreams } from './campaign.ts'

/** Cases of each kind; with those in windows they are over 2,000 in all, and over 100,000 whole. */
const SIZES: Readonly<Record<Exclude<CaseKind, 'windows'>, number>> = {
  joins: campaignSize(300, 15_000, 7_500),
  'outer joins': campaignSize(200, 10_000, 5_000),
  'temporal joins': campaignSize(200, 10_000, 5_000),
  timers: campaignSize(270, 13_500, 6_750),
  patterns: campaignSize(200, 10_000, 5_000),
  jobs: campaignSize(20, 1_000, 500),
  'changed jobs': campaignSize(50, 500, 250),
}

describe('random streams give what a plain computation gives', () => {
  it.each(Object.entries(SIZES))(
    'in %s',
    async (kind, cases) => {
      const report = await runStreams({ seed: commitSeed(), cases, kinds: [kind as CaseKind] })
      expect(report).toMatchObject({ verdict: 'passed', wrong: 0, lost: 0, violations: [] })
    },
    3_600_000,
  )
})
