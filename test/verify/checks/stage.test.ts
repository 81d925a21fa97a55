import { describe, expect, it } from 'vitest'
import type { Violation } from '../../../verify/checks/observation.ts'
import { resultOf } from '../../../verify/checks/stage.ts'

describe('a stage of a verification', () => {
  it('has the result of its work, and no violation', async () => {
    const violations: Violation[] = []
    const stage = { what: 'start', limitMs: 60_000, work: async () => 7 }
    expect(await resultOf(stage, violations)).toBe(7)
    expect(violations).toEqual([])
  })

  it('is a violation with its name when its work fails', async () => {
    const violations: Violation[] = []
    const work = () => Promise.reject(new Error('ids do not expire'))
    expect(await resultOf({ what: 'ids-expired', limitMs: 60_000, work }, violations)).toBe(
      undefined,
    )
    expect(violations).toEqual([{ kind: 'hangs', detail: 'ids-expired: ids do not expire' }])
  })

  it('is a violation when its work never ends', async () => {
    const violations: Violation[] = []
    const work = () => new Promise<never>(() => undefined)
    await resultOf({ what: 'leader-killed', limitMs: 10, work }, violations)
    expect(violations).toEqual([
      { kind: 'hangs', detail: 'leader-killed: does not end within 0.01 s' },
    ])
  })
})
