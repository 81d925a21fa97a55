import { describe, expect, it } from 'vitest'
import {
  decideAfterExit,
  type ProcessExit,
} from '../../../../src/cluster/jobmanager/supervision/exit-decision.ts'
import { seededRandom } from '../../../../src/core/random.ts'
import {
  NO_FAILURES,
  type RestartStrategyOptions,
} from '../../../../src/runtime/configuration/restart-strategy.ts'

const TWO: RestartStrategyOptions = { type: 'fixed-delay', attempts: 2, delayMs: 100 }

const LOST: ProcessExit = {
  lastStatus: 'RUNNING',
  isRequested: false,
  startError: undefined,
  code: null,
  signal: 'SIGKILL',
}

const decide = (exit: Partial<ProcessExit>, failures = 0) =>
  decideAfterExit(
    { ...LOST, ...exit },
    {
      strategy: TWO,
      history: { ...NO_FAILURES, failures },
      nowMs: 0,
      random: seededRandom(1),
    },
  ).decision

describe('the decision after the end of a process', () => {
  it.each(['FINISHED', 'CANCELED', 'FAILED'] as const)('is to leave a job that is %s', (status) => {
    expect(decide({ lastStatus: status })).toEqual({ kind: 'ended' })
  })

  it('is to start another process for one that was lost, as often as the strategy allows', () => {
    expect(decide({})).toEqual({ kind: 'restart', delayMs: 100 })
    expect(decide({ lastStatus: undefined })).toEqual({ kind: 'restart', delayMs: 100 })
    expect(decide({}, 2)).toEqual({ kind: 'failed', reason: 'all 2 restarts are used up' })
  })

  it('is to start another process for one that suspended its job without being asked', () => {
    expect(decide({ lastStatus: 'SUSPENDED' })).toEqual({ kind: 'restart', delayMs: 100 })
  })

  it('is to do nothing about a process that was asked to end', () => {
    expect(decide({ isRequested: true })).toEqual({ kind: 'suspended' })
    expect(decide({ isRequested: true, lastStatus: 'FINISHED' })).toEqual({ kind: 'ended' })
  })

  it('is to fail a job that cannot start without a change', () => {
    expect(decide({ startError: 'UNKNOWN_TOPIC' })).toMatchObject({ kind: 'failed' })
    expect(decide({ startError: 'CONNECTOR_FAILED' })).toMatchObject({ kind: 'restart' })
  })
})
