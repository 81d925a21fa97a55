import { describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../../src/core/clock.ts'
import { WeirError } from '../../../src/core/errors.ts'
import { parseConfiguration } from '../../../src/runtime/configuration/keys.ts'
import {
  AttemptExecution,
  type AttemptListener,
  type ReportReceivers,
} from '../../../src/runtime/job/attempt-execution.ts'
import { SlotActivity } from '../../../src/runtime/protocol/slot-activity.ts'
import type { SlotHost } from '../../../src/runtime/protocol/slot-host.ts'
import { ProgressBoard } from '../../../src/state/catalog/progress-board.ts'

const deaf: SlotHost = {
  remote: false,
  send() {},
  kill() {},
  terminate: () => Promise.resolve(),
}

/** No time passes. */
const stopped: Clock = { ...systemClock, after: () => () => {} }

function attemptOfTwoSlots(clock: Clock = systemClock) {
  const heard: string[] = []
  const listener: AttemptListener = {
    failed: ({ message }) => heard.push(`failed: ${message}`),
    running: () => heard.push('running'),
    ended: () => heard.push('ended'),
    warned: ({ message }) => heard.push(`warned: ${message}`),
  }
  const receivers: ReportReceivers = {
    job: listener,
    checkpoints: {
      onAck: ({ task }) => heard.push(`acknowledged: ${task}`),
      onDecline: ({ task }) => heard.push(`declined: ${task}`),
    },
    serving: { onReport: (slot, { kind }) => heard.push(`serving: ${kind} ${slot}`) },
    coordinators: { onEvent: ({ event }) => heard.push(`event: ${event}`) },
  }
  const attempt = new AttemptExecution({
    slots: [deaf, deaf],
    clock,
    fingerprint: 'f',
    dropped: [],
    deployment: {
      jobId: 'a'.repeat(32),
      jobName: 'job',
      attempt: 1,
      configuration: parseConfiguration({}),
      board: ProgressBoard.create(2, 4).share,
      namesCallers: false,
      activity: SlotActivity.create(2).buffer,
      generation: 0,
      storageUrl: undefined,
      restoredCheckpoint: 0,
      mayHaveChanged: true,
      restoredSplits: [],
      plan: new Map(),
    },
    receivers,
  })
  return { attempt, heard }
}

const running = { kind: 'running', attempt: 1 } as const
const closed = { kind: 'closed', attempt: 1, accumulators: [] } as const
const measured = { kind: 'metrics', attempt: 1, request: 1, accumulators: undefined } as const
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

const ack = {
  jobId: 'a'.repeat(32),
  attempt: 1,
  checkpointId: 1,
  task: 'map#0',
  operators: [],
  timings: { startDelayMs: 0, alignmentMs: 0, syncMs: 0, asyncMs: 0 },
} as const
const decline = {
  jobId: ack.jobId,
  attempt: 1,
  checkpointId: 1,
  task: 'map#1',
  reason: 'cancel-marker',
} as const
const dropped = { kind: 'table-dropped', operatorUid: 'als', state: 'rows', version: 1 } as const

describe('an attempt', () => {
  it('runs when its last slot does', () => {
    const { attempt, heard } = attemptOfTwoSlots()
    attempt.onReport(0, running)
    expect(heard).toEqual(['serving: running 0'])
    attempt.onReport(1, running)
    expect(heard).toEqual(['serving: running 0', 'serving: running 1', 'running'])
  })

  it('that failed neither runs nor ends afterwards', () => {
    const { attempt, heard } = attemptOfTwoSlots()
    attempt.onReport(0, running)
    attempt.onReport(0, failed)
    attempt.onReport(1, running)
    attempt.onReport(0, ended)
    attempt.onReport(1, ended)
    expect(heard.filter((line) => !line.startsWith('serving'))).toEqual(['failed: sink failed: no'])
  })

  it('delivers every report to what handles it', () => {
    const { attempt, heard } = attemptOfTwoSlots()
    attempt.onReport(0, { kind: 'ack', attempt: 1, ack })
    attempt.onReport(1, { kind: 'decline', attempt: 1, decline })
    attempt.onReport(0, { kind: 'operator-event', attempt: 1, uid: 'als', subtask: 0, event: 'e' })
    attempt.onReport(1, { ...dropped, attempt: 1 })
    expect(heard).toEqual([
      'acknowledged: map#0',
      'declined: map#1',
      'event: e',
      'serving: table-dropped 1',
    ])
  })

  it('waits for the metrics of no slot that closes or is lost meanwhile', async () => {
    const { attempt } = attemptOfTwoSlots(stopped)
    const metrics = attempt.metrics()
    const second = attempt.metrics()
    attempt.onReport(0, { ...measured, metrics: { a: 1 } })
    attempt.onReport(0, closed)
    attempt.onLost(1, new WeirError('SLOT_LOST', 'gone'))
    expect(await metrics).toEqual({ a: 1 })
    expect(await second).toEqual({})
  })

  it('asks no slot for metrics that has closed before', async () => {
    const { attempt } = attemptOfTwoSlots(stopped)
    attempt.onReport(0, closed)
    const metrics = attempt.metrics()
    attempt.onReport(1, { ...measured, metrics: { b: 2 } })
    expect(await metrics).toEqual({ b: 2 })
    attempt.onReport(1, closed)
    expect(await attempt.metrics()).toEqual({})
  })

  it('ignores reports of another attempt', () => {
    const { attempt, heard } = attemptOfTwoSlots()
    attempt.onReport(0, { kind: 'ack', attempt: 2, ack })
    attempt.onReport(1, { ...dropped, attempt: 2 })
    attempt.onReport(1, { ...failed, attempt: 2 })
    expect(heard).toEqual([])
  })
})
