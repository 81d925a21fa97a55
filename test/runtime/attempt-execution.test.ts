import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { AttemptExecution, type AttemptListener } from '../../src/runtime/attempt-execution.ts'
import { parseConfiguration } from '../../src/runtime/configuration.ts'
import type { SlotHost } from '../../src/runtime/slot-host.ts'
import { ProgressBoard } from '../../src/state/progress-board.ts'

const deaf: SlotHost = {
  remote: false,
  send() {},
  kill() {},
  terminate: () => Promise.resolve(),
}

function attemptOfTwoSlots() {
  const heard: string[] = []
  const listener: AttemptListener = {
    failed: ({ message }) => heard.push(`failed: ${message}`),
    running: () => heard.push('running'),
    ended: () => heard.push('ended'),
    acknowledged() {},
    declined() {},
    other() {},
  }
  const attempt = new AttemptExecution({
    jobId: 'a'.repeat(32),
    jobName: 'job',
    attempt: 1,
    slots: [deaf, deaf],
    configuration: parseConfiguration({}),
    board: ProgressBoard.create(2, 4).share,
    clock: systemClock,
    fingerprint: 'f',
    generation: 0,
    storageUrl: undefined,
    restoredCheckpoint: 0,
    restoredSplits: [],
    plan: new Map(),
    listener,
  })
  return { attempt, heard }
}

const running = { kind: 'running', attempt: 1 } as const
const ended = { kind: 'ended', attempt: 1 } as const
const failed = {
  kind: 'failed',
  attempt: 1,
  task: 'sink',
  operator: undefined,
  code: 'OPERATOR_FAILED',
  message: 'no',
  stack: undefined,
} as const

describe('an attempt', () => {
  it('runs when its last slot does', () => {
    const { attempt, heard } = attemptOfTwoSlots()
    attempt.onReport(0, running)
    expect(heard).toEqual([])
    attempt.onReport(1, running)
    expect(heard).toEqual(['running'])
  })

  it('that failed neither runs nor ends afterwards', () => {
    const { attempt, heard } = attemptOfTwoSlots()
    attempt.onReport(0, running)
    attempt.onReport(0, failed)
    attempt.onReport(1, running)
    attempt.onReport(0, ended)
    attempt.onReport(1, ended)
    expect(heard).toEqual(['failed: sink failed: no'])
  })
})
