import { describe, expect, it } from 'vitest'
import { campaignSize } from '../run/campaign-size.ts'
import { commitSeed } from '../services/commit-seed.ts'
import { runStreams } from './campaign.ts'

const CASES = campaignSize(1_360, 70_000, 15_000)

describe('random streams give what a plain computation gives', () => {
  it(
    'in windows',
    async () => {
      const report = await runStreams({ seed: commitSeed(), cases: CASES, kinds: ['windows'] })
      expect(report).toMatchObject({ verdict: 'passed', wrong: 0, lost: 0, violations: [] })
    },
    campaignSize(900_000, 3_600_000, 900_000),
  )
})
