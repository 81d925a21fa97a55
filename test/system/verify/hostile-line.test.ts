import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { HostileReport } from '../../../verify/hostile-campaign.ts'
import { CommandProcess } from '../cli/command-process.ts'

it('a campaign of hostile clients ends with a line that says what it broke and what good clients lost', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-hostile-line-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const words = ['--campaign', 'hostile', '--door', 'models', '--attack', 'deep nesting']
  await using campaign = new CommandProcess(
    process.execPath,
    ['verify/main.ts', ...words, '--seed', '7'],
    { env: { TMPDIR: folder } },
  )
  const { code, stdout, stderr } = await campaign.ended
  const line = JSON.parse(stdout.trimEnd().split('\n').at(-1)!) as HostileReport
  expect(line, stderr).toMatchObject({ campaign: 'hostile', seed: 7, lost: expect.any(Number) })
  expect(line.cases.run).toBe(1)
  // Whether the times are kept is for the campaign to say: this machine runs other tests beside it.
  const hasPassed = line.violations.length === 0
  expect(line.verdict === 'failed').toBe(!hasPassed)
  expect(code).toBe(hasPassed ? 0 : 1)
})
