import { describe, expect, it } from 'vitest'
import {
  decideTrigger,
  type TriggerFacts,
  type TriggerPolicy,
} from '../../../../src/runtime/checkpoint/protocol/trigger-decision.ts'

const facts = (changes: Partial<TriggerFacts> = {}): TriggerFacts => ({
  nowMs: 1000,
  running: true,
  pending: 0,
  queuedSavepoints: 0,
  queuedRequests: 0,
  lastTriggeredAtMs: 900,
  lastSettledAtMs: 950,
  ...changes,
})

const policy = (changes: Partial<TriggerPolicy> = {}): TriggerPolicy => ({
  intervalMs: 100,
  minPauseMs: 0,
  maxConcurrent: 1,
  ...changes,
})

describe('decideTrigger', () => {
  it('triggers when the interval is over', () => {
    expect(decideTrigger(facts(), policy())).toEqual({ kind: 'periodic' })
  })

  it('waits for the rest of the interval', () => {
    const decision = decideTrigger(facts({ nowMs: 960 }), policy())
    expect(decision).toEqual({ kind: 'wait', untilMs: 1000 })
  })

  it('waits for the pause after the last checkpoint', () => {
    const decision = decideTrigger(facts(), policy({ minPauseMs: 80 }))
    expect(decision).toEqual({ kind: 'wait', untilMs: 1030 })
  })

  it('does not wait for the pause before the first checkpoint', () => {
    const decision = decideTrigger(
      facts({ lastSettledAtMs: undefined }),
      policy({ minPauseMs: 80 }),
    )
    expect(decision).toEqual({ kind: 'periodic' })
  })

  it('triggers nothing while tasks do not run', () => {
    const decision = decideTrigger(facts({ running: false, queuedSavepoints: 1 }), policy())
    expect(decision).toEqual({ kind: 'not-running' })
  })

  it('waits while as many checkpoints as allowed are pending', () => {
    const decision = decideTrigger(
      facts({ pending: 2, queuedSavepoints: 1 }),
      policy({ maxConcurrent: 2 }),
    )
    expect(decision).toEqual({ kind: 'wait-for-settled' })
    const other = decideTrigger(facts({ pending: 1 }), policy({ maxConcurrent: 2 }))
    expect(other).toEqual({ kind: 'periodic' })
  })

  it('takes savepoints first and without a pause', () => {
    const queued = facts({ nowMs: 951, queuedSavepoints: 1, queuedRequests: 1 })
    expect(decideTrigger(queued, policy({ minPauseMs: 500 }))).toEqual({ kind: 'savepoint' })
  })

  it('takes a requested checkpoint without a pause', () => {
    const queued = facts({ nowMs: 951, queuedRequests: 1 })
    expect(decideTrigger(queued, policy({ minPauseMs: 500 }))).toEqual({ kind: 'requested' })
  })

  it('is idle without an interval and without requests', () => {
    const never = policy({ intervalMs: undefined })
    expect(decideTrigger(facts(), never)).toEqual({ kind: 'idle' })
    expect(decideTrigger(facts({ queuedRequests: 1 }), never)).toEqual({ kind: 'requested' })
  })
})
