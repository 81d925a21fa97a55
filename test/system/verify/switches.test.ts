import { expect, it } from 'vitest'
import { runSwitches } from '../../../verify/switches.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'

const COUNT = campaignSize(40, 150)
const KILLS = campaignSize(2, 3)

it('small versions go live under load, with slots killed, without a failed or mixed prediction', async () => {
  const seed = commitSeed()
  const report = await runSwitches({
    ...{ seed, count: COUNT, killEvery: COUNT / KILLS },
    say: () => undefined,
  })
  process.stdout.write(`${JSON.stringify(report)}\n`)
  const good = { switches: COUNT, kills: KILLS, errors: 0, mixtures: 0, violations: [] }
  expect(report, `WEIR_SEED=${seed}`).toMatchObject(good)
})
