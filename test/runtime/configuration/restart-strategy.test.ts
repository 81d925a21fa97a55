import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import {
  decideRestart,
  NO_FAILURES,
  type RestartStrategyOptions,
} from '../../../src/runtime/configuration/restart-strategy.ts'

/** Delays of the restarts after failures at the given times; "fail" where the job fails. */
function decisions(options: RestartStrategyOptions, timesMs: readonly number[]) {
  let history = NO_FAILURES
  return timesMs.map((nowMs) => {
    const decided = decideRestart(options, { history, nowMs, random: seededRandom(1) })
    history = decided.history
    return decided.decision.kind === 'restart' ? decided.decision.delayMs : 'fail'
  })
}

const backoff = {
  type: 'exponential-delay',
  initialBackoffMs: 100,
  maxBackoffMs: 1000,
  backoffMultiplier: 2,
  resetBackoffThresholdMs: 10_000,
  jitterFactor: 0,
  attemptsBeforeResetBackoff: Number.POSITIVE_INFINITY,
} as const

describe('decideRestart', () => {
  it('fails the job at once without a strategy', () => {
    expect(decisions({ type: 'none' }, [0])).toEqual(['fail'])
  })

  it('restarts a fixed number of times after a fixed delay', () => {
    const options = { type: 'fixed-delay', attempts: 2, delayMs: 50 } as const
    expect(decisions(options, [0, 10, 20])).toEqual([50, 50, 'fail'])
  })

  it('tolerates failures up to a rate', () => {
    const options = {
      type: 'failure-rate',
      maxFailuresPerInterval: 2,
      failureRateIntervalMs: 1000,
      delayMs: 5,
    } as const
    expect(decisions(options, [0, 900, 1100, 1200])).toEqual([5, 5, 5, 'fail'])
  })

  it('ignores failures that are as old as the rate interval', () => {
    const options = {
      type: 'failure-rate',
      maxFailuresPerInterval: 1,
      failureRateIntervalMs: 1000,
      delayMs: 5,
    } as const
    expect(decisions(options, [0, 1000, 1999])).toEqual([5, 5, 'fail'])
  })

  it('doubles the backoff up to its limit', () => {
    expect(decisions(backoff, [0, 200, 500, 1000, 2000, 4000])).toEqual([
      100, 200, 400, 800, 1000, 1000,
    ])
  })

  it('starts the backoff over after a quiet time that begins with the restart', () => {
    expect(decisions(backoff, [0, 100 + 9999])).toEqual([100, 200])
    expect(decisions(backoff, [0, 100 + 10_000])).toEqual([100, 100])
  })

  it('fails the job when the attempts before a reset are used up', () => {
    expect(decisions({ ...backoff, attemptsBeforeResetBackoff: 2 }, [0, 1, 2])).toEqual([
      100,
      200,
      'fail',
    ])
  })

  it('draws the delay within the jitter around the backoff', () => {
    const random = seededRandom(7)
    const delays = Array.from({ length: 200 }, () => {
      const facts = { history: NO_FAILURES, nowMs: 0, random }
      const { decision } = decideRestart({ ...backoff, jitterFactor: 0.1 }, facts)
      return decision.kind === 'restart' ? decision.delayMs : -1
    })
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(90)
    expect(Math.max(...delays)).toBeLessThanOrEqual(110)
    expect(new Set(delays).size).toBeGreaterThan(10)
  })
})
