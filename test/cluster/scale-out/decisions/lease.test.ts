import { describe, expect, it } from 'vitest'
import {
  isLeased,
  isSettled,
  leaseAfter,
  leaseRulesOf,
  mayAnswerLive,
  NEVER_OWNED,
  NO_LEASE,
} from '../../../../src/cluster/scale-out/decisions/lease.ts'
import { seededRandom } from '../../../../src/core/random.ts'
import { commitSeed } from '../../../services/commit-seed.ts'

const RULES = leaseRulesOf(10_000)

describe('lease', () => {
  it('begins when the answered request was sent, and ends a margin before the session', () => {
    const until = leaseAfter(NO_LEASE, 1_000, RULES)
    expect(until).toBe(10_800)
    expect([isLeased(until, 10_799), isLeased(until, 10_800)]).toEqual([true, false])
    expect(isLeased(NO_LEASE, 0)).toBe(false)
  })

  it('does not shrink when an older answer comes later', () => {
    expect(leaseAfter(leaseAfter(NO_LEASE, 3_000, RULES), 1_000, RULES)).toBe(12_800)
  })

  it('is over before the coordinator can evict, for any delay of request and answer and clocks 1 % apart', () => {
    const random = seededRandom(commitSeed())
    for (let n = 0; n < 1_000; n++) {
      const sentAt = random.next() * 1e6
      const receivedAt = sentAt + random.next() * 20_000
      const evictedAt = receivedAt + 10_000
      const pace = 0.99 + random.next() * 0.02
      const lengthHere = leaseAfter(NO_LEASE, 0, RULES)
      expect(sentAt + lengthHere / pace).toBeLessThan(evictedAt)
    }
  })

  it.each([
    ['released', { before: { wasSettled: true, wasReleased: true } }, true],
    [
      'released, itself unsure of the one before it',
      { before: { wasSettled: false, wasReleased: true } },
      false,
    ],
    ['refuses connections', { refuses: true }, true],
    [
      'refuses, but was unsure of the one before it',
      { before: { wasSettled: false, wasReleased: false }, refuses: true },
      false,
    ],
    ['may hold a lease', {}, false],
    ['has had a whole session since', { nowMs: 15_000 }, true],
    ['has had nearly a session since', { nowMs: 14_999 }, false],
  ])('lets a successor answer live or not when the owner before %s', (_, facts, may) => {
    const before = { wasSettled: true, wasReleased: false }
    const lost = { before, refuses: false, assignedAtMs: 5_000, nowMs: 6_000, ...facts }
    expect(mayAnswerLive({ ...lost, hasCommitted: true }, RULES)).toBe(may)
    expect(mayAnswerLive({ ...lost, hasCommitted: false }, RULES)).toBe(false)
  })

  it('of a partition that was never owned stands in no way', () => {
    const facts = { before: NEVER_OWNED, refuses: false, assignedAtMs: 0, nowMs: 0 }
    expect(isSettled(facts, RULES)).toBe(true)
  })
})
