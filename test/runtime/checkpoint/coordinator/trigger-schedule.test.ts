import { describe, expect, it } from 'vitest'
import { WeirError } from '../../../../src/core/errors.ts'
import {
  type CheckpointRequest,
  TriggerSchedule,
} from '../../../../src/runtime/checkpoint/coordinator/trigger-schedule.ts'
import type { TriggerPolicy } from '../../../../src/runtime/checkpoint/protocol/trigger-decision.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'

/** A schedule that records what it triggers; at most one checkpoint is pending at a time. */
function setUp(policy: Partial<TriggerPolicy> = {}) {
  const clock = new ManualClock(0)
  const events: string[] = []
  const state = { running: true, pending: 0 }
  const schedule = new TriggerSchedule({
    clock,
    policy: { intervalMs: undefined, minPauseMs: 0, maxConcurrent: 1, ...policy },
    running: () => state.running,
    pending: () => state.pending,
    trigger: (request) => {
      state.pending += 1
      const plain = request?.isLast === true ? 'last' : 'checkpoint'
      events.push(request === undefined ? 'periodic' : (request.folder ?? plain))
    },
  })
  const request = (folder?: string): CheckpointRequest => ({
    folder,
    isLast: false,
    completed() {},
    failed: ({ code }) => events.push(`${folder ?? 'checkpoint'} failed: ${code}`),
  })
  const settle = (): void => {
    state.pending -= 1
    schedule.settled()
    schedule.consider()
  }
  return { clock, events, schedule, state, request, settle }
}

describe('TriggerSchedule', () => {
  it('triggers after every interval, when the checkpoint before is settled', () => {
    const { clock, events, schedule, settle } = setUp({ intervalMs: 100 })
    schedule.begin()
    clock.advance(99)
    expect(events).toEqual([])
    clock.advance(1)
    clock.advance(150)
    expect(events).toEqual(['periodic'])
    settle()
    expect(events).toEqual(['periodic', 'periodic'])
  })

  it('triggers waiting requests one after the other, savepoints first', () => {
    const { events, schedule, request, settle } = setUp()
    schedule.request(request())
    schedule.request(request())
    schedule.request(request('savepoint'))
    settle()
    settle()
    expect(events).toEqual(['checkpoint', 'savepoint', 'checkpoint'])
  })

  it('triggers the last checkpoint of a job before others that wait', () => {
    const { events, schedule, request, settle } = setUp()
    for (let n = 0; n < 3; n++) schedule.request(request())
    schedule.request({ ...request(), isLast: true })
    settle()
    expect(events).toEqual(['checkpoint', 'last'])
  })

  it('keeps requests until the job runs', () => {
    const { events, schedule, state, request } = setUp()
    state.running = false
    schedule.request(request())
    expect(events).toEqual([])
    state.running = true
    schedule.begin()
    expect(events).toEqual(['checkpoint'])
  })

  it('fails every waiting request and triggers no more when it is stopped', () => {
    const { clock, events, schedule, state, request } = setUp({ intervalMs: 100 })
    schedule.begin()
    state.pending = 1
    schedule.request(request('savepoint'))
    state.pending = 0
    schedule.stop(new WeirError('CHECKPOINT_DECLINED', 'over'))
    clock.advance(1000)
    expect(events).toEqual(['savepoint failed: CHECKPOINT_DECLINED'])
  })
})
