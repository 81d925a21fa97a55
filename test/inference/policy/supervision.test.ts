import { describe, expect, it } from 'vitest'
import { hedgeAfterMs } from '../../../src/inference/policy/hedging.ts'
import {
  afterLoss,
  isUnservable,
  restartPauseMs,
  superviseWorker,
} from '../../../src/inference/policy/supervision.ts'

describe('a batch whose worker was lost', () => {
  const lost = (lostAttempts: number, deadlineMs = 100) => ({ lostAttempts, deadlineMs })

  it('is tried again as it is after the first loss', () => {
    expect(afterLoss([lost(1), lost(1)], 0, 3)).toEqual({
      groups: [[0, 1]],
      poisoned: [],
      lost: [],
    })
  })

  it('is halved after the second', () => {
    expect(afterLoss([lost(2), lost(2), lost(2)], 0, 3).groups).toEqual([[0], [1, 2]])
  })

  it('gives up only what has no time left', () => {
    expect(afterLoss([lost(1, 10), lost(1, 100)], 10, 3)).toEqual({
      groups: [[1]],
      poisoned: [],
      lost: [0],
    })
  })

  it.each([2, 3, 7, 64])(
    'of %d requests finds the one that ends workers, the rest lives',
    (size) => {
      const poison = Math.floor(size * 0.7)
      const attempts = new Array<number>(size).fill(0)
      const queue = [Array.from({ length: size }, (_, i) => i)]
      const poisoned: number[] = []
      const answered: number[] = []
      let losses = 0
      while (queue.length > 0) {
        const batch = queue.shift()!
        if (!batch.includes(poison)) {
          answered.push(...batch)
          continue
        }
        losses++
        for (const i of batch) attempts[i]!++
        const next = afterLoss(
          batch.map((i) => lost(attempts[i]!)),
          0,
          3,
        )
        poisoned.push(...next.poisoned.map((i) => batch[i]!))
        queue.push(...next.groups.map((group) => group.map((i) => batch[i]!)))
      }
      expect(poisoned).toEqual([poison])
      expect(answered.sort((a, b) => a - b)).toEqual(
        attempts.map((_, i) => i).filter((i) => i !== poison),
      )
      expect(losses).toBeLessThanOrEqual(Math.ceil(Math.log2(size)) + 3)
    },
  )
})

describe('a worker', () => {
  const facts = {
    nowMs: 10_000,
    runStartedAt: 0,
    expectedMs: 5,
    overtimeFactor: 10,
    overtimeMs: 200,
    runs: 100,
    recycleAfterRuns: undefined,
  }

  it('is overtime after ten times the expected time, but not before the shortest overtime', () => {
    expect(superviseWorker({ ...facts, runStartedAt: 9_801 })).toBe('keep')
    expect(superviseWorker({ ...facts, runStartedAt: 9_799 })).toBe('overtime')
    expect(superviseWorker({ ...facts, runStartedAt: 9_700, expectedMs: 40 })).toBe('keep')
  })

  it('is replaced after its runs, between two of them', () => {
    expect(superviseWorker({ ...facts, recycleAfterRuns: 100 })).toBe('recycle')
    expect(superviseWorker({ ...facts, recycleAfterRuns: 101 })).toBe('keep')
    expect(superviseWorker({ ...facts, runStartedAt: 9_990, recycleAfterRuns: 1 })).toBe('keep')
  })

  it('is started again at once after one loss, and later the more losses there are', () => {
    const pauseOf = (losses: number) =>
      restartPauseMs({ losses, startMs: 50, slackMs: Number.POSITIVE_INFINITY })
    expect([1, 2, 3, 4, 20].map(pauseOf)).toEqual([0, 100, 200, 400, 5000])
  })

  it('is started while a request that waits has time for it, but starts take at most half of the time', () => {
    const pauseOf = (startMs: number, slackMs: number) =>
      restartPauseMs({ losses: 20, startMs, slackMs })
    expect(pauseOf(150, 1000)).toBe(700)
    expect(pauseOf(150, 20_000)).toBe(5000)
    expect(pauseOf(150, 200)).toBe(150)
    expect(pauseOf(150, -10)).toBe(150)
    expect(restartPauseMs({ losses: 2, startMs: 800, slackMs: 1000 })).toBe(100)
  })
})

describe('a model whose workers have ended', () => {
  it('fails its requests after the second load that fails, and only while no worker lives', () => {
    expect(isUnservable({ workers: 0, failedLoads: 1 })).toBe(false)
    expect(isUnservable({ workers: 0, failedLoads: 2 })).toBe(true)
    expect(isUnservable({ workers: 1, failedLoads: 9 })).toBe(false)
  })
})

describe('a hedge', () => {
  const latency = { fixedMs: 4, itemMs: 1, ratio: 3, largest: 8 }

  it('starts after a fixed time, or at a quantile of the run', () => {
    expect(hedgeAfterMs({ afterMs: 7 }, latency, 6)).toBe(7)
    expect(hedgeAfterMs({ quantile: 0.99 }, latency, 6)).toBeCloseTo(30, 6)
    expect(hedgeAfterMs({ quantile: 0.9 }, latency, 6)).toBeCloseTo(20, 6)
  })
})
