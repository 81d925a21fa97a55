import { expect, it } from 'vitest'
import { runKills } from '../../../../verify/models/kills.ts'
import { campaignSize } from '../../../run/campaign-size.ts'
import { commitSeed } from '../../../services/commit-seed.ts'

it('workers that are killed in any state lose no request and answer none twice', async () => {
  const seed = commitSeed()
  const kills = campaignSize(3, 10)
  const report = await runKills({ seed, minutes: 0, kills, say() {} })
  expect(report.violations, `WEIR_SEED=${seed}`).toEqual([])
  expect(report).toMatchObject({ lost: 0, answeredTwice: 0, wrong: 0 })
  expect(report.kills).toBeGreaterThanOrEqual(2 * kills)
})
