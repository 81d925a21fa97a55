import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { CommandProcess } from '../cli/command-process.ts'

it('a verification whose services do not start ends with a verdict and the reason as its last line', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-verdict-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const words = ['--disable-warning=TimeoutNegativeWarning', 'verify/main.ts']
  await using command = new CommandProcess(
    process.execPath,
    [...words, '--minutes', '1', '--seed', '7'],
    { env: { PATH: folder, JAVA_HOME: '', TMPDIR: folder } },
  )
  const { code, stdout } = await command.ended
  expect(JSON.parse(stdout.trimEnd().split('\n').at(-1)!)).toEqual({
    verdict: 'failed',
    seed: 7,
    details: [expect.stringContaining('"java" is not installed')],
  })
  expect(code).toBe(1)
})
