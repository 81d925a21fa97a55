import { describe, expect, it } from 'vitest'
import {
  isTerminal,
  JOB_TRANSITIONS,
  type JobStatus,
  JobStatusMachine,
} from '../../src/runtime/job-status.ts'

function machineAt(...path: readonly JobStatus[]): JobStatusMachine {
  const machine = new JobStatusMachine()
  for (const status of path) machine.moveTo(status, 1, 0)
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
    expect(() => machine.moveTo('RESTARTING', 1, 0)).toThrow(
      'a job that is RUNNING cannot become RESTARTING',
    )
    expect(machine.status).toBe('RUNNING')
  })

  it('tells listeners what changed, when, and why', () => {
    const machine = machineAt('INITIALIZING', 'RUNNING')
    const changes: unknown[] = []
    machine.onChange((change) => changes.push(change))
    machine.moveTo('FAILING', 3, 42, 'broken')
    expect(changes).toEqual([
      { from: 'RUNNING', to: 'FAILING', attempt: 3, atMs: 42, cause: 'broken' },
    ])
  })

  it('ends in four states that nothing follows', () => {
    const terminal = Object.keys(JOB_TRANSITIONS).filter((s) => isTerminal(s as JobStatus))
    expect(terminal.sort()).toEqual(['CANCELED', 'FAILED', 'FINISHED', 'SUSPENDED'])
  })
})
