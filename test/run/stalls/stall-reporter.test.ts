import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { expect, it, onTestFinished, vi } from 'vitest'
import { RUN_VARIABLE, workerFile } from './run-processes.ts'
import { FILES_VARIABLE, StallReporter } from './stall-reporter.ts'

it('a run that stands still names its processes, kills them, and fails', async () => {
  const said: string[] = []
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    said.push(String(text))
    return true
  })
  // What the reporter sets is restored with them.
  for (const name of [RUN_VARIABLE, FILES_VARIABLE]) vi.stubEnv(name, process.env[name])
  onTestFinished(() => {
    write.mockRestore()
    vi.unstubAllEnvs()
    process.exitCode = undefined
  })
  const reporter = new StallReporter({ sayMs: 0, mostQuietMs: 0, graceMs: 0 })
  const worker = spawn(process.execPath, ['-e', 'for (;;);'])
  const exited = once(worker, 'exit')
  writeFileSync(
    `${process.env[FILES_VARIABLE]}/${workerFile(worker.pid!)}`,
    'test/of-the-loop.test.ts',
  )
  await reporter.look()
  expect(await exited).toEqual([null, 'SIGKILL'])
  expect(reporter.stalls).toHaveLength(1)
  expect(process.exitCode).toBe(1)
  expect(said.join('')).toMatch(/\d % of a core, .*pipe:\[\d+\].*\) test\/of-the-loop\.test\.ts/)
})
