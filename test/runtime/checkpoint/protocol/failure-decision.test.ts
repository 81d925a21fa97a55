import { describe, expect, it } from 'vitest'
import { decideFailure } from '../../../../src/runtime/checkpoint/protocol/failure-decision.ts'

describe('decideFailure', () => {
  it.each(['declined', 'expired', 'storage'] as const)(
    'tolerates as many %s as allowed',
    (reason) => {
      expect(decideFailure(reason, 1, 2)).toEqual({ kind: 'continue', failures: 2 })
      expect(decideFailure(reason, 2, 2)).toEqual({ kind: 'fail-job', failures: 3 })
    },
  )

  it('fails the job at the first failure when none is tolerated', () => {
    expect(decideFailure('expired', 0, 0)).toEqual({ kind: 'fail-job', failures: 1 })
  })

  it('fails the job at the first outdated one whatever is tolerated', () => {
    expect(decideFailure('outdated', 0, 100)).toEqual({ kind: 'fail-job', failures: 1 })
  })

  it.each(['subsumed', 'stopped'] as const)('does not count %s', (reason) => {
    expect(decideFailure(reason, 1, 1)).toEqual({ kind: 'continue', failures: 1 })
  })

  it('stops a fenced coordinator whatever is tolerated', () => {
    expect(decideFailure('fenced', 0, 100)).toEqual({ kind: 'stop-coordinator' })
  })
})
