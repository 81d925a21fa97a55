import { describe, expect, it } from 'vitest'
import { leaseRulesOf, NEVER_OWNED } from '../../../../src/cluster/scale-out/decisions/lease.ts'
import { LiveRights } from '../../../../src/cluster/scale-out/queries/live-rights.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'

const SESSION_MS = 10_000

function rights() {
  const clock = new ManualClock()
  return { clock, rights: new LiveRights(clock, leaseRulesOf(SESSION_MS)) }
}

describe('the right to answer live', () => {
  it('ends a session after the last answered request was sent, however late its answer came', () => {
    const { clock, rights: own } = rights()
    own.claimed(3)
    own.found(3, { before: NEVER_OWNED, refuses: false })
    expect(own.mayAnswer(3)).toBe(false)
    const sentAtMs = clock.monotonicMs()
    clock.advance(4_000)
    own.answered(sentAtMs)
    expect(own.mayAnswer(3)).toBe(true)
    clock.advance(5_700)
    expect(own.mayAnswer(3)).toBe(true)
    // As a process that stood still finds when it goes on.
    clock.advance(400)
    expect(own.mayAnswer(3)).toBe(false)
    own.answered(clock.monotonicMs())
    expect(own.mayAnswer(3)).toBe(true)
    own.lost()
    expect(own.mayAnswer(3)).toBe(false)
  })

  it('is only for partitions that run here', () => {
    const { clock, rights: own } = rights()
    own.answered(clock.monotonicMs())
    own.claimed(1)
    own.found(1, { before: NEVER_OWNED, refuses: false })
    expect([0, 1].map((partition) => own.mayAnswer(partition))).toEqual([false, true])
    own.stopped(1)
    expect(own.mayAnswer(1)).toBe(false)
  })

  it.each([
    { what: 'has not been found', previous: undefined },
    {
      what: 'may live',
      previous: { before: { wasSettled: true, wasReleased: false }, refuses: false },
    },
    {
      what: 'released, and had itself waited for another one',
      previous: { before: { wasSettled: false, wasReleased: true }, refuses: true },
    },
  ])('waits for a session where the owner before $what', ({ previous }) => {
    const { clock, rights: own } = rights()
    clock.advance(50)
    own.claimed(1)
    if (previous !== undefined) own.found(1, previous)
    clock.advance(SESSION_MS - 1)
    own.answered(clock.monotonicMs())
    expect(own.mayAnswer(1)).toBe(false)
    clock.advance(1)
    expect(own.mayAnswer(1)).toBe(true)
  })

  it('begins at once where the owner before released the partition, or has ended', () => {
    const { clock, rights: own } = rights()
    own.answered(clock.monotonicMs())
    own.claimed(1)
    own.claimed(2)
    own.found(1, { before: { wasSettled: true, wasReleased: true }, refuses: false })
    own.found(2, { before: { wasSettled: true, wasReleased: false }, refuses: true })
    expect([1, 2].map((partition) => own.mayAnswer(partition))).toEqual([true, true])
  })
})
