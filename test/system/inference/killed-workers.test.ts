import { expect, it } from 'vitest'
import { runKills } from '../../../verify/models/kills.ts'
import { commitSeed } from '../../services/commit-seed.ts'

it('workers that are killed in any state lose no request and answer none twice', async () => {
  const seed = commitSeed()
  const report = await runKills({ seed, minutes: 0, kills: 10, say() {} })
  expect(report.violations).toEqual([])
  expect(report).toMatchObject({ lost: 0, answeredTwice: 0, wrong: 0 })
  expect(report.kills).toBeGreaterThanOrEqual(20)
}, 120_000)
