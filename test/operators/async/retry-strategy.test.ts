import { describe, expect, it } from 'vitest'
import {
  exponentialBackoffRetry,
  fixedDelayRetry,
} from '../../../src/operators/async/retry-strategy.ts'

describe('a retry strategy', () => {
  it('waits the same time before every call, or longer each time up to a limit', () => {
    const fixed = fixedDelayRetry({ maxAttempts: 3, delayMs: 50 })
    const growing = exponentialBackoffRetry({
      maxAttempts: 6,
      initialDelayMs: 10,
      maxDelayMs: 60,
    })
    expect([1, 2, 3].map((attempts) => fixed.delayMs(attempts))).toEqual([50, 50, 50])
    expect([1, 2, 3, 4, 5].map((attempts) => growing.delayMs(attempts))).toEqual([
      10, 20, 40, 60, 60,
    ])
  })

  it('repeats calls that failed, and takes all results, unless it is told otherwise', () => {
    const strategy = fixedDelayRetry({ maxAttempts: 2, delayMs: 0 })
    expect(strategy.retriesError(new Error('busy'))).toBe(true)
    expect(strategy.retriesResults([])).toBe(false)
  })

  it.each([
    ['maxAttempts', () => fixedDelayRetry({ maxAttempts: 0, delayMs: 1 })],
    ['delayMs', () => fixedDelayRetry({ maxAttempts: 1, delayMs: -1 })],
    [
      'initialDelayMs',
      () => exponentialBackoffRetry({ maxAttempts: 1, initialDelayMs: -1, maxDelayMs: 1 }),
    ],
    [
      'multiplier',
      () =>
        exponentialBackoffRetry({
          maxAttempts: 1,
          initialDelayMs: 1,
          maxDelayMs: 1,
          multiplier: 0.5,
        }),
    ],
  ])('is refused when %s is outside its range', (name, create) => {
    expect(create).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining(name),
      }),
    )
  })
})
