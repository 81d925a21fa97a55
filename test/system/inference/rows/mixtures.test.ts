import { expect, it } from 'vitest'
import { runMixtures } from '../../../../verify/models/mixtures.ts'
import { campaignSize } from '../../../run/campaign-size.ts'
import { commitSeed } from '../../../services/commit-seed.ts'

it('no answer of a graph depends on other requests, whatever the graph does with its rows', async () => {
  const seed = commitSeed()
  const kinds = campaignSize({ kinds: 16 }, {})
  const requests = campaignSize(40, 300)
  const report = await runMixtures({ seed, minutes: 0, requests, ...kinds, say() {} })
  expect(report.violations, `WEIR_SEED=${seed}`).toEqual([])
  expect(report).toMatchObject({ lost: 0, wrong: 0 })
  expect(report.asked).toBe(report.graphs * requests)
}, 600_000)
