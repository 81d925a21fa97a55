import { describe, expect, it } from 'vitest'
import { decideRetrain, type RetrainFacts } from '../../../src/models/registry/retrain-trigger.ts'

const facts: RetrainFacts = {
  isRunning: false,
  isAskedFor: false,
  newObservations: 50,
  msSinceTraining: 60_000,
  freshnessMs: 30_000,
  error: { fadedMse: 0.9, atStart: 0.8, count: 1000, driftAlarms: 0 },
}

const triggerOf = (policy: object, observed: Partial<RetrainFacts> = {}): unknown => {
  const decision = decideRetrain(policy, { ...facts, ...observed })
  return decision.kind === 'train' ? decision.trigger : decision.kind
}

describe('the decision to retrain', () => {
  it('waits while no trigger has a bound that is reached', () => {
    expect(triggerOf({})).toBe('wait')
    expect(triggerOf({ count: 51, everyMs: 60_001, freshnessMs: 30_001 })).toBe('wait')
    expect(triggerOf({ errorLevel: 1, errorRise: 0.2, onDrift: true })).toBe('wait')
  })

  it('fires on count, time, freshness, error level, rise of the error, drift and by hand', () => {
    expect(triggerOf({ count: 50 })).toBe('count')
    expect(triggerOf({ everyMs: 60_000 })).toBe('time')
    expect(triggerOf({ freshnessMs: 30_000 })).toBe('freshness')
    expect(triggerOf({ errorLevel: 0.9 })).toBe('error-level')
    expect(triggerOf({ errorRise: 0.1 })).toBe('error-rise')
    const drifted = { error: { fadedMse: 1, atStart: 1, count: 500, driftAlarms: 1 } }
    expect(triggerOf({ onDrift: true }, drifted)).toBe('drift')
    expect(triggerOf({ onDrift: false }, drifted)).toBe('wait')
    expect(triggerOf({}, { isAskedFor: true })).toBe('manual')
  })

  it('reports the value that reached the bound, and the most urgent of several triggers', () => {
    expect(decideRetrain({ count: 10, errorLevel: 0.5 }, facts)).toEqual({
      kind: 'train',
      trigger: 'error-level',
      value: 0.9,
      bound: 0.5,
    })
  })

  it('ignores errors over few ratings', () => {
    const few = { error: { fadedMse: 9, atStart: 1, count: 99, driftAlarms: 3 } }
    expect(triggerOf({ errorLevel: 1, errorRise: 0.1, onDrift: true }, few)).toBe('wait')
    expect(triggerOf({ errorLevel: 1, minErrors: 99 }, few)).toBe('error-level')
    const unknown = { error: { fadedMse: 9, atStart: Number.NaN, count: 999, driftAlarms: 0 } }
    expect(triggerOf({ errorRise: 0.1 }, unknown)).toBe('wait')
  })

  it('holds what fired before a rollback, until a person, drift or an error lifts it', () => {
    const held = { isRolledBack: true }
    for (const policy of [{ count: 50 }, { everyMs: 60_000 }, { freshnessMs: 30_000 }]) {
      expect(triggerOf(policy, held)).toBe('held')
    }
    expect(triggerOf({ count: 50, errorLevel: 0.9 }, held)).toBe('error-level')
    expect(triggerOf({ count: 50 }, { ...held, isAskedFor: true })).toBe('manual')
    const drifted = { error: { fadedMse: 1, atStart: 1, count: 500, driftAlarms: 1 } }
    expect(triggerOf({ count: 50, onDrift: true }, { ...held, ...drifted })).toBe('drift')
  })

  it('never runs two trainings at once, and never trains without new observations, even by hand', () => {
    expect(triggerOf({ count: 1 }, { isRunning: true, isAskedFor: true })).toBe('running')
    expect(triggerOf({ count: 0 }, { newObservations: 0, isAskedFor: true })).toBe('no-news')
  })

  it('waits between two trainings, except by hand', () => {
    const policy = { count: 1, minIntervalMs: 90_000 }
    expect(decideRetrain(policy, facts)).toEqual({
      kind: 'cooling',
      trigger: 'count',
      waitMs: 30_000,
    })
    expect(triggerOf(policy, { isAskedFor: true })).toBe('manual')
  })

  it('has no freshness before the first version', () => {
    expect(triggerOf({ freshnessMs: 1 }, { freshnessMs: Number.NaN })).toBe('wait')
  })
})
