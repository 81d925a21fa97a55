import { expect, it } from 'vitest'
import { runSwitches } from '../../../verify/switches.ts'

it('300 small versions go live under load, with slots killed, without a failed or mixed prediction', async () => {
  const report = await runSwitches({ seed: 1, count: 300, killEvery: 60, say: () => undefined })
  process.stdout.write(`${JSON.stringify(report)}\n`)
  expect(report).toMatchObject({ switches: 300, kills: 5, errors: 0, mixtures: 0, violations: [] })
  expect(report.predictions).toBeGreaterThan(3_000)
}, 240_000)
