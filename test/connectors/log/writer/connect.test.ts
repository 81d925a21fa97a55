import { expect, it } from 'vitest'
import { decideReach } from '../../../../src/connectors/log/writer/connect.ts'

it('an owner without a socket is waited for, ever less often, up to the limit', () => {
  const waits: number[] = []
  let waitedMs = 0
  for (let attempt = 1; ; attempt++) {
    const decision = decideReach({ isRefused: false, attempt, waitedMs, limitMs: 3000 })
    if (typeof decision === 'string') {
      expect(decision).toBe('give-up')
      break
    }
    waits.push(decision.waitMs)
    waitedMs += decision.waitMs
  }
  expect(waits.slice(0, 6)).toEqual([20, 40, 80, 160, 320, 500])
  expect(waitedMs).toBeLessThan(3500)
  expect(decideReach({ isRefused: false, attempt: 1, waitedMs: 0, limitMs: 0 })).toBe('give-up')
})

it('a socket where nothing listens, seen three times, shows that the owner has ended', () => {
  const refused = (attempt: number) =>
    decideReach({ isRefused: true, attempt, waitedMs: 0, limitMs: 1000 })
  expect([refused(1), refused(2), refused(3)]).toEqual([
    { waitMs: 20 },
    { waitMs: 40 },
    'owner-has-ended',
  ])
})
