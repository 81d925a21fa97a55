import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { isRunning, PROCESS_PLACE, processIdentity } from '../../src/files/running-process.ts'

it('this process runs', () => {
  expect(isRunning(processIdentity(process.pid))).toBe(true)
})

it('a process that has ended does not run', () => {
  const { pid } = spawnSync(process.execPath, ['--version'])
  expect(isRunning({ pid, processStart: '' })).toBe(false)
})

// Only Linux has the start of a process.
it.runIf(process.platform === 'linux')(
  'a process that got the id of an ended one is another',
  () => {
    const { pid, processStart } = processIdentity(process.pid)
    expect(processStart).toMatch(/^[0-9]+$/)
    expect(isRunning({ pid, processStart: `${Number(processStart) - 1}` })).toBe(false)
    expect(PROCESS_PLACE.pidNamespace).toMatch(/^pid:/)
  },
)
