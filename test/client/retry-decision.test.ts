import { describe, expect, it } from 'vitest'
import { backoffMs, decideRetry } from '../../src/client/retry-decision.ts'
import { WeirError } from '../../src/core/errors.ts'
import { seededRandom } from '../../src/core/random.ts'

const options = { maxAttempts: 3, baseMs: 10, maxMs: 100 }
const random = seededRandom(5)

describe('retry decisionMs', () => {
  it('draws from a bound that doubles up to the maximum', () => {
    for (const [failures, bound] of [
      [0, 10],
      [1, 20],
      [3, 80],
      [4, 100],
      [500, 100],
    ] as const) {
      const waits = Array.from({ length: 500 }, () => backoffMs(failures, options, random))
      expect(Math.max(...waits)).toBeLessThan(bound)
      expect(Math.max(...waits)).toBeGreaterThan(bound * 0.9)
      expect(Math.min(...waits)).toBeLessThan(bound * 0.1)
    }
  })
})

describe('decideRetry', () => {
  const decide = (error: WeirError, attempt: number, leftMs: number) =>
    decideRetry({ error, attempt, leftMs }, options, random).kind

  it('tries again only after errors that another try can avoid', () => {
    expect(decide(new WeirError('RESTORING', ''), 1, 1000)).toBe('retry')
    expect(decide(new WeirError('UNKNOWN_KEY', ''), 1, 1000)).toBe('give-up')
    expect(decide(new WeirError('DEADLINE_EXCEEDED', ''), 1, 1000)).toBe('give-up')
  })

  it('gives up after the last attempt, except while no server can be reached or the job restores', () => {
    expect(decide(new WeirError('OVERLOADED', ''), 3, 1000)).toBe('give-up')
    expect(decide(new WeirError('RESTORING', ''), 300, 1000)).toBe('retry')
    expect(decide(new WeirError('UNAVAILABLE', ''), 300, 1000)).toBe('retry')
    expect(decide(new WeirError('SLOT_LOST', ''), 300, 1000)).toBe('retry')
    // A job partition moves, and two processes name each other for a while.
    const moving = new WeirError('NOT_OWNER', '', { details: { epoch: 4 } })
    expect(decide(moving, 300, 1000)).toBe('retry')
    expect(decide(new WeirError('NOT_OWNER', ''), 300, 1000)).toBe('give-up')
  })

  it('does not give up a job that restores before the deadline, however long the usual wait is', () => {
    const decisions = Array.from({ length: 500 }, () => {
      const error = new WeirError('RESTORING', '')
      return decideRetry({ error, attempt: 300, leftMs: 5 }, options, random)
    })
    for (const decision of decisions) {
      expect(decision).toMatchObject({ kind: 'retry' })
      expect((decision as { waitMs: number }).waitMs).toBeLessThan(5)
    }
  })

  it('waits as long as the server asks, or gives up when that is too long', () => {
    const error = new WeirError('OVERLOADED', '', { details: { retryAfterMs: 700 } })
    const decided = decideRetry({ error, attempt: 1, leftMs: 1000 }, options, random)
    expect(decided).toEqual({ kind: 'retry', waitMs: 700 })
    expect(decide(error, 1, 600)).toBe('give-up')
  })

  it('does not wait past the deadline', () => {
    expect(decide(new WeirError('RESTORING', ''), 1, 0)).toBe('give-up')
    expect(decide(new WeirError('UNAVAILABLE', ''), 1, 0)).toBe('too-late')
  })
})
