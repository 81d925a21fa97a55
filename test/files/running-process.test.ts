import { spawn, spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import {
  isRunning,
  PROCESS_PLACE,
  processIdentity,
  processState,
} from '../../src/files/running-process.ts'
import { needs } from '../run/needs.ts'
import { until } from '../run/until.ts'

it('this process runs', () => {
  expect(isRunning(processIdentity(process.pid))).toBe(true)
})

it('a process that has ended does not run', () => {
  const { pid } = spawnSync(process.execPath, ['--version'])
  expect(isRunning({ pid, processStart: '' })).toBe(false)
})

it(
  'a process that got the id of an ended one is another',
  needs(process.platform === 'linux', 'only Linux has the start of a process'),
  () => {
    const { pid, processStart } = processIdentity(process.pid)
    expect(processStart).toMatch(/^[0-9]+$/)
    expect(isRunning({ pid, processStart: `${Number(processStart) - 1}` })).toBe(false)
    expect(PROCESS_PLACE.pidNamespace).toMatch(/^pid:/)
  },
)

it(
  'a process that got SIGSTOP is stopped',
  needs(process.platform === 'linux', 'only Linux has the state of a process in /proc'),
  async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    try {
      const owner = { ...processIdentity(child.pid!), ...PROCESS_PLACE }
      expect(processState(owner)).toBe('running')
      child.kill('SIGSTOP')
      await until('it is stopped', () => processState(owner) === 'stopped')
      child.kill('SIGCONT')
      await until('it runs', () => processState(owner) === 'running')
      child.kill('SIGKILL')
      await until('it has ended', () => child.signalCode !== null)
      expect(processState(owner)).toBe('ended')
    } finally {
      child.kill('SIGKILL')
    }
  },
)

it('a process of another container or machine is elsewhere', () => {
  const own = processIdentity(process.pid)
  expect(processState({ ...own, ...PROCESS_PLACE, pidNamespace: 'pid:[1]' })).toBe('elsewhere')
  expect(processState({ ...own, host: 'another', boot: 'another' })).toBe('elsewhere')
})
