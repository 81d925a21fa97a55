import { describe, expect, it } from 'vitest'
import {
  isTerminal,
  JOB_TRANSITIONS,
  type JobStatus,
  JobStatusMachine,
} from '../../../src/runtime/job/status.ts'

function machineAt(...path: readonly JobStatus[]): JobStatusMachine {
  const machine = new JobStatusMachine()
  for (const status of path) machine.moveTo(status, { attempt: 1, atMs: 0 })
  return machine
}

describe('JobStatusMachine', () => {
  it('goes from creation over a restart to the end', () => {
    const path = [
      'INITIALIZING',
      'RUNNING',
      'FAILING',
      'RESTARTING',
      'RUNNING',
      'FINISHED',
    ] as const
    expect(machineAt(...path).status).toBe('FINISHED')
  })

  it('refuses a transition that is not in the table', () => {
    const machine = machineAt('INITIALIZING', 'RUNNING')
    expect(() => machine.moveTo('RESTARTING', { attempt: 1, atMs: 0 })).toThrow(
      'a job that is RUNNING cannot become RESTARTING',
    )
    expect(machine.status).toBe('RUNNING')
  })

  it('notifies listeners what changed, when, and why', () => {
    const machine = machineAt('INITIALIZING', 'RUNNING')
    const changes: unknown[] = []
    machine.onChange((change) => changes.push(change))
    machine.moveTo('FAILING', { attempt: 3, atMs: 42, cause: 'broken' })
    expect(changes).toEqual([
      { from: 'RUNNING', to: 'FAILING', attempt: 3, atMs: 42, cause: 'broken' },
    ])
  })

  it('resolves a wait for a state when the job reaches it, or ends in another one', async () => {
    const machine = machineAt('INITIALIZING')
    const running = machine.reaches(['RUNNING', 'RESTARTING'])
    machine.moveTo('RUNNING', { attempt: 1, atMs: 0 })
    expect(await running).toBe('RUNNING')
    const restarting = machine.reaches(['RESTARTING'])
    machine.moveTo('FINISHED', { attempt: 1, atMs: 0 })
    expect(await restarting).toBe('FINISHED')
  })

  it('ends in four states that nothing follows', () => {
    const terminal = Object.keys(JOB_TRANSITIONS).filter((s) => isTerminal(s as JobStatus))
    expect(terminal.sort()).toEqual(['CANCELED', 'FAILED', 'FINISHED', 'SUSPENDED'])
  })
})
