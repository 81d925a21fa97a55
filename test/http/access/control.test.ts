import { describe, expect, it } from 'vitest'
import { AccessControl, OPEN_ACCESS, shareAccess } from '../../../src/http/access/control.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { tokenOf } from './tokens.ts'

const LIMIT = { perSecond: 2, burst: 2 }
const reader = tokenOf(1, { limit: LIMIT })
const admin = tokenOf(2, { role: 'admin' })
const share = shareAccess([admin.record, reader.record])

describe('AccessControl', () => {
  it.each([
    ['no token', undefined, 'read', 'unauthenticated', 401],
    ['an empty token', '', 'read', 'unauthenticated', 401],
    ['a wrong token', 'guess', 'read', 'unauthenticated', 401],
    ['a reader that changes something', reader.text, 'admin', 'forbidden', 403],
    ['a reader that writes', reader.text, 'write', 'forbidden', 403],
    ['a reader that reads', reader.text, 'read', 'allowed', undefined],
    ['an admin that writes', admin.text, 'write', 'allowed', undefined],
  ] as const)('%s', (_, token, needed, kind, status) => {
    const access = new AccessControl(shareAccess([admin.record, reader.record]), new ManualClock())
    expect(access.authorize(token, needed)).toMatchObject(
      status === undefined ? { kind } : { kind, status },
    )
  })

  it('limits the rate of a token for all threads together, and says when to come again', () => {
    const clock = new ManualClock()
    const [one, other] = [new AccessControl(share, clock), new AccessControl(share, clock)]
    expect(one.authorize(reader.text, 'read').kind).toBe('allowed')
    expect(other.authorize(reader.text, 'read').kind).toBe('allowed')
    expect(one.authorize(reader.text, 'read')).toMatchObject({
      kind: 'limited',
      retryAfterMs: 500,
      error: { code: 'OVERLOADED', details: { retryAfterMs: 500 } },
    })
    expect(one.authorize(admin.text, 'read').kind).toBe('allowed')
  })

  it('takes nothing from the rate for a request that the role forbids', () => {
    const access = new AccessControl(shareAccess([reader.record]), new ManualClock())
    for (let at = 0; at < 5; at++) access.authorize(reader.text, 'admin')
    expect(access.authorize(reader.text, 'read').kind).toBe('allowed')
  })

  it('that is open allows everything', () => {
    const access = new AccessControl(OPEN_ACCESS, new ManualClock())
    expect(access.authorize(undefined, 'admin')).toMatchObject({
      kind: 'allowed',
      principal: { id: 'anonymous' },
    })
  })

  it('stays closed when the last token is revoked', () => {
    const access = new AccessControl(share, new ManualClock())
    access.replace(shareAccess([]))
    expect(access.authorize(undefined, 'read').kind).toBe('unauthenticated')
    expect(access.authorize(admin.text, 'read').kind).toBe('unauthenticated')
  })

  it('refuses a revoked token after the tokens were replaced', () => {
    const access = new AccessControl(share, new ManualClock())
    access.replace(shareAccess([admin.record]))
    expect(access.authorize(reader.text, 'read').kind).toBe('unauthenticated')
    expect(access.authorize(admin.text, 'read').kind).toBe('allowed')
  })

  it('never shows a token in an error', () => {
    const access = new AccessControl(share, new ManualClock())
    const texts = [access.authorize('hunter2', 'read'), access.authorize(reader.text, 'admin')].map(
      (decision) =>
        'error' in decision
          ? `${decision.error.message} ${JSON.stringify(decision.error.details)}`
          : '',
    )
    expect(texts.join(' ')).not.toContain('hunter2')
    expect(texts.join(' ')).not.toContain(reader.text)
  })
})
